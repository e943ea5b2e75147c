import { Check, Copy } from "lucide-react";
import { lazy, memo, type ReactNode, Suspense, useMemo, useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import remend from "remend";
import css from "./markdown.module.css";

const Highlighted = lazy(() => import("./Highlighted"));
const MAX_HIGHLIGHTED_LINES = 2_000;

/** Returns the host of an address that a person may follow; null for `javascript:`, `data:` and the like. */
export function safeHost(address: string | undefined): string | null {
  if (!address) return null;
  try {
    const url = new URL(address);
    if (url.protocol === "mailto:") return url.pathname;
    return url.protocol === "https:" || url.protocol === "http:" ? url.host : null;
  } catch {
    return null;
  }
}

/** `true` if the text of a link is the host itself or an address of the host, so that it need not be shown again. */
export function namesHost(text: string, host: string): boolean {
  return text.trim() === host || safeHost(text.trim()) === host;
}

function textOf(node: ReactNode): string {
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (Array.isArray(node)) return node.map(textOf).join("");
  return "";
}

const components: Components = {
  a({ href, children }) {
    const host = safeHost(href);
    if (host === null || href === undefined) return <span className={css.deadLink}>{children}</span>;
    const named = namesHost(textOf(children), host);
    return (
      <a href={href} rel="noopener noreferrer" target="_blank">
        {children}
        {!named && <span className={css.host}> {host}</span>}
      </a>
    );
  },
  img({ src, alt }) {
    const host = typeof src === "string" ? safeHost(src) : null;
    return (
      <span className={css.image}>
        [image{alt ? `: ${alt}` : ""}] {host ?? ""}
      </span>
    );
  },
  pre({ children }) {
    return <>{children}</>;
  },
  code({ className, children }) {
    const text = textOf(children);
    const language = /language-([\w+-]+)/.exec(className ?? "")?.[1];
    if (language === undefined && !text.includes("\n")) return <code className={css.code}>{children}</code>;
    return <CodeBlock text={text.replace(/\n$/, "")} language={language ?? ""} />;
  },
  table({ children }) {
    return (
      <div className={css.table} role="group" aria-label="Table" tabIndex={0}>
        <table>{children}</table>
      </div>
    );
  },
  input({ checked }) {
    return (
      <span role="img" aria-label={checked ? "done" : "open"} className={checked ? css.done : css.open} />
    );
  },
};

const plugins = [remarkGfm];

/** One block of Markdown. Raw HTML stays text, and no address but http, https and mailto can be followed. */
const Block = memo(function Block({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={plugins} components={components} urlTransform={(url) => url}>
      {text}
    </ReactMarkdown>
  );
});

/**
 * Splits Markdown where a new block begins for certain, so that a longer text parses only its last block again: at
 * blank lines outside code fences, before a line without indent that continues no list or reference.
 */
export function blocksOf(text: string): string[] {
  const lines = text.split("\n");
  const blocks: string[] = [];
  let current: string[] = [];
  let fence: string | null = null;
  for (const [index, line] of lines.entries()) {
    const opened: string | undefined = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (opened !== undefined) {
      if (fence === null) fence = opened;
      else if (opened[0] === fence[0] && opened.length >= fence.length && /^\s*[`~]+\s*$/.test(line))
        fence = null;
    }
    const begins = fence === null || (opened !== undefined && fence === opened);
    const afterBlank = index > 0 && lines[index - 1]?.trim() === "";
    const separate = /^[^\s\-*+>|[\d]/.test(line);
    if (begins && afterBlank && separate && current.length > 0) {
      blocks.push(current.join("\n"));
      current = [];
    }
    current.push(line);
  }
  if (current.length > 0) blocks.push(current.join("\n"));
  return blocks;
}

/** Text of an agent. While it is live, unfinished syntax at the end is closed. */
export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  const blocks = useMemo(() => {
    // A reference may stand in another block than its address.
    if (!live && /^\s*\[[^\]]+\]:/m.test(text)) return [text];
    const parts = blocksOf(text);
    const last = parts.at(-1);
    if (live && last !== undefined) parts[parts.length - 1] = remend(last);
    return parts;
  }, [text, live]);
  return (
    <div className={css.markdown} data-live={live}>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks are only added at the end.
        <Block key={index} text={block} />
      ))}
    </div>
  );
});

export function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  // Browsers offer the clipboard on secure pages only.
  if (!navigator.clipboard) return null;
  return (
    <button
      type="button"
      className={css.copy}
      aria-label={copied ? "Copied" : "Copy"}
      title="Copy"
      onClick={() =>
        navigator.clipboard.writeText(text).then(() => {
          setCopied(true);
          setTimeout(() => setCopied(false), 2000);
        })
      }
    >
      {copied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
    </button>
  );
}

export function CodeBlock({ text, language }: { text: string; language: string }) {
  const plain = <code>{text}</code>;
  const long = text.split("\n", MAX_HIGHLIGHTED_LINES + 1).length > MAX_HIGHLIGHTED_LINES;
  return (
    <div className={css.block}>
      <div className={css.blockHead}>
        <span>{language}</span>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0}>
        {long || language === "" ? (
          plain
        ) : (
          <Suspense fallback={plain}>
            <Highlighted text={text} language={language} />
          </Suspense>
        )}
      </pre>
    </div>
  );
}
