"""Conversions between queued messages, messages for the running turn, and prompts."""

from tui_agent.protocol.events.turn import UserMessageReceived, UserQueued, UserSteered
from tui_agent.protocol.ids import RequestId


def prompt_from_queue(queued: UserQueued) -> UserMessageReceived:
    """Return the event that sends a queued message."""
    return UserMessageReceived(
        text=queued.text,
        attachments=queued.attachments,
        source="queue",
        queue_id=queued.queue_id,
        command=queued.command,
        own_words=queued.own_words,
        typed_mentions=queued.typed_mentions,
    )


def steering_from_queue(queued: UserQueued) -> UserSteered:
    """Return the event that adds a queued message to the running turn."""
    return UserSteered(
        text=queued.text,
        attachments=queued.attachments,
        command=queued.command,
        own_words=queued.own_words,
        typed_mentions=queued.typed_mentions,
    )


def queue_from_steering(message: UserSteered, queue_id: RequestId) -> UserQueued:
    """Return the event that queues a steering message."""
    return UserQueued(
        queue_id=queue_id,
        text=message.text,
        attachments=message.attachments,
        command=message.command,
        own_words=message.own_words,
        typed_mentions=message.typed_mentions,
    )


def prompt_from_steering(message: UserSteered) -> UserMessageReceived:
    """Convert a message that was meant for a running turn to a prompt for a new turn."""
    return UserMessageReceived(
        text=message.text,
        attachments=message.attachments,
        mentions=message.mentions,
        command=message.command,
        own_words=message.own_words,
        typed_mentions=message.typed_mentions,
    )
