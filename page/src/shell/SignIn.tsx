import { type FormEvent, type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { get, onResponse, post } from "../api/client";
import { keys, queryClient } from "../api/queries";
import type { Whoami } from "../api/types";
import { Button } from "../kit/Button";
import { errorText } from "../kit/ErrorState";
import { Field } from "../kit/layout";
import { reconnect, useFeedState } from "../live/client";
import css from "./shell.module.css";

let signedOut = false;
const listeners = new Set<() => void>();

function setSignedOut(next: boolean): void {
  if (signedOut === next) return;
  signedOut = next;
  for (const listener of listeners) listener();
}

onResponse((event) => {
  if (event === "unauthenticated") setSignedOut(true);
});

/** Returns `true` after a response has shown that the sign-in has ended. */
export function useSignedOut(): boolean {
  const feed = useFeedState();
  useEffect(() => {
    if (feed.status === "signed-out") setSignedOut(true);
  }, [feed.status]);
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => signedOut,
  );
}

/** Returns `true` if a sign-in gives the rights that the page had before, or if the page had none. */
export function hasSameRights(before: Whoami | undefined, now: Whoami): boolean {
  return before === undefined || (before.tenant.id === now.tenant.id && before.role === now.role);
}

/** Loads everything again after a sign-in. */
export async function resume(): Promise<void> {
  const whoami = await get<Whoami>("/whoami");
  // Another person must not see the data and the fields of the last one.
  if (!hasSameRights(queryClient.getQueryData<Whoami>(keys.whoami), whoami)) return window.location.reload();
  queryClient.setQueryData(keys.whoami, whoami);
  setSignedOut(false);
  reconnect();
  await queryClient.restartQueries();
}

/** Returns the code of a pasted link, or the pasted code itself. */
export function codeOf(pasted: string): string {
  const text = pasted.trim();
  const hash = text.indexOf("#");
  return hash < 0 ? text : text.slice(hash + 1);
}

/** Asks for a sign-in, over the page or in its place. The page below keeps its drafts. */
export function SignIn({ whole = false }: { whole?: boolean }) {
  const [pasted, setPasted] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    // The link may have been opened in another tab.
    const check = () => {
      if (document.visibilityState === "visible") resume().catch(() => undefined);
    };
    addEventListener("focus", check);
    document.addEventListener("visibilitychange", check);
    return () => {
      removeEventListener("focus", check);
      document.removeEventListener("visibilitychange", check);
    };
  }, []);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await post("/sign-in", { body: { code: codeOf(pasted) } });
      await resume();
    } catch (problem) {
      setError(errorText(problem));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Frame whole={whole}>
      <form className={css.signIn} onSubmit={submit}>
        <Brand />
        <h1 id="sign-in-title">{whole ? "Sign in" : "Your sign-in has ended"}</h1>
        <p>
          {whole ? "" : "Your drafts are kept. "}Run this on the machine of the server and open its link, or
          paste the link here.
        </p>
        <pre className={css.command}>matins sign-in</pre>
        <Field
          label="Link or code"
          value={pasted}
          onChange={(event) => setPasted(event.target.value)}
          autoComplete="off"
          spellCheck={false}
          error={error}
        />
        <Button kind="primary" size="large" type="submit" busy={busy} disabled={pasted.trim() === ""}>
          Sign in
        </Button>
      </form>
    </Frame>
  );
}

/** A modal dialog over the page, or the page itself. A native dialog lies above all others and holds the focus. */
function Frame({ whole, children }: { whole: boolean; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  if (whole) {
    return (
      <main className={css.signInWhole} aria-labelledby="sign-in-title">
        {children}
      </main>
    );
  }
  return (
    <dialog
      ref={dialog}
      className={css.signInOver}
      aria-labelledby="sign-in-title"
      // Nothing works behind it, so Escape does not close it.
      onCancel={(event) => event.preventDefault()}
    >
      {children}
    </dialog>
  );
}

export function Brand() {
  return (
    <span className={css.brand}>
      <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
        <rect width="20" height="20" rx="5" fill="var(--accent)" />
        <g fill="none" stroke="var(--on-accent)" strokeWidth="1.5" strokeLinecap="round">
          <path d="M4 13.2h12M6 16h8M10 4v1.4M5 6l1 1M15 6l-1 1" />
        </g>
        <path d="M6.6 11.4a3.4 3.4 0 0 1 6.8 0z" fill="var(--on-accent)" />
      </svg>
      Matins
    </span>
  );
}
