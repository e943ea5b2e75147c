import { useState } from "react";
import { Button } from "./Button";
import { copyText } from "./clipboard";

/** Copies a text, such as a secret that is shown once. */
export function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    if (await copyText(text)) setCopied(true);
  };
  return (
    <Button size="small" onClick={copy}>
      {copied ? "Copied" : "Copy"}
    </Button>
  );
}
