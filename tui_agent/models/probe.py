"""L3: which model servers of this machine answer, for the first start and for `doctor`.

Invariant: only loopback addresses are asked, for less than a second, and nothing is sent but a GET.
"""

import json
from collections.abc import Mapping

import anyio
import httpx

from tui_agent.config.vendors import VENDORS, Vendor
from tui_agent.errors import ConfigError
from tui_agent.models.endpoint import USER_AGENT, Endpoint, normalised

SECONDS = 0.8
MOST = 20


async def local_models(environ: Mapping[str, str]) -> list[str]:
    """Names such as `ollama/qwen3` of the models that servers on this machine offer now, in the vendors' order."""
    local = [vendor for vendor in VENDORS.values() if vendor.base_url_env and not vendor.keys]
    found: dict[str, list[str]] = {}
    async with (
        httpx.AsyncClient(timeout=SECONDS, trust_env=False, headers={"user-agent": USER_AGENT}) as client,
        anyio.create_task_group() as group,
    ):
        for vendor in local:
            group.start_soon(_ask, client, vendor, environ, found)
    return [name for vendor in local for name in found.get(vendor.name, ())]


async def _ask(
    client: httpx.AsyncClient, vendor: Vendor, environ: Mapping[str, str], found: dict[str, list[str]]
) -> None:
    try:
        endpoint = Endpoint(normalised(environ.get(vendor.base_url_env) or vendor.base_url))
    except ConfigError:
        return
    if not endpoint.local:
        return
    try:
        answer = await client.get(endpoint.url("models"))
        listed = json.loads(answer.content) if answer.status_code == 200 else {}
    except (httpx.HTTPError, ValueError):
        return
    models = listed.get("data") if isinstance(listed, dict) else None
    if isinstance(models, list):
        names = [str(model["id"]) for model in models if isinstance(model, dict) and model.get("id")]
        found[vendor.name] = [f"{vendor.name}/{name}" for name in names[:MOST]]
