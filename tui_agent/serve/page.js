// Lets the user type at once: the terminal takes keys only while its text area has the focus.
// It reports the focus to the server, so the connection must be open first.
const connected = new MutationObserver(() => {
  if (document.body.classList.contains("-loaded")) {
    connected.disconnect();
    document.querySelector(".xterm-helper-textarea").focus();
  }
});
addEventListener("DOMContentLoaded", () => connected.observe(document.body, { attributes: true }));
