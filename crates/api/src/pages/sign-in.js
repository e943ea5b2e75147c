// Sends the code of a sign-in link. It stands behind the #, which the browser sends nowhere by itself, and is
// taken out of the address at once, so that it stays in no history.
"use strict";

const told = document.getElementById("told");
const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname);

async function signIn() {
  if (code === "") {
    told.textContent = "This link has no code. `matins sign-in` makes one that has.";
    return;
  }
  const answer = await fetch("/api/v1/sign-in", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (answer.ok) {
    told.textContent = "Signed in.";
    location.replace("/");
    return;
  }
  const problem = await answer.json().catch(() => ({}));
  told.textContent = `${problem.detail ?? "Signing in failed."} ${problem.hint ?? ""}`;
}

signIn().catch(() => {
  told.textContent = "The server cannot be reached.";
});
