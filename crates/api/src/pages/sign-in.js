// Sends the code of a sign-in link to the server. The code follows the #, which browsers never send by themselves. The
// script removes the code from the address at once, so that no history contains it.
"use strict";

const message = document.getElementById("message");
const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname);

async function signIn() {
  if (code === "") {
    message.textContent = "This link has no code. Create a new link with `matins sign-in`.";
    return;
  }
  const answer = await fetch("/api/v1/sign-in", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (answer.ok) {
    message.textContent = "Signed in.";
    location.replace("/");
    return;
  }
  const problem = await answer.json().catch(() => ({}));
  message.textContent = `${problem.detail ?? "The sign-in failed."} ${problem.hint ?? ""}`;
}

signIn().catch(() => {
  message.textContent = "The server cannot be reached.";
});
