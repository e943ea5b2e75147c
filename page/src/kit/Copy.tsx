import { useState } from "react";
import { Button } from "./Button";
import { toast } from "./Toast";

/** Copies a text, such as a secret that is shown once. */
export function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    // The clipboard is missing on pages that come over HTTP from another machine.
    navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => toast("The browser does not permit copying"),
    );
  };
  return (
    <Button size="small" onClick={copy}>
      {copied ? "Copied" : "Copy"}
    </Button>
  );
}
