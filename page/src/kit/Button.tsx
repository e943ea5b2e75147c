import type { ComponentProps, ReactNode } from "react";
import { Link } from "wouter";
import css from "./kit.module.css";
import { visible } from "./visible";

type Kind = "ordinary" | "primary" | "danger" | "plain";
type Size = "small" | "medium" | "large";

export interface ButtonProps extends ComponentProps<"button"> {
  kind?: Kind;
  size?: Size;
  /** Shows a spinner beside the word and refuses clicks. */
  busy?: boolean;
  /** Disables the button and says why in its tooltip, such as a missing permission. */
  refusal?: string | null | undefined;
}

const classOf = (kind: Kind, size: Size, className?: string) =>
  [css.button, css[size], css[kind], className].filter(Boolean).join(" ");

export function Button({
  kind = "ordinary",
  size = "medium",
  busy,
  refusal,
  className,
  ...rest
}: ButtonProps) {
  const disabled = rest.disabled || busy || refusal != null;
  return (
    <button
      type="button"
      {...rest}
      className={classOf(kind, size, className)}
      disabled={disabled}
      aria-busy={busy || undefined}
      title={refusal ?? rest.title}
    >
      {busy && <span className={css.spinner} aria-hidden="true" />}
      {rest.children}
    </button>
  );
}

export interface ButtonLinkProps extends ComponentProps<"a"> {
  href: string;
  kind?: Kind;
  size?: Size;
  /** `true` if the address is not one of the page. It opens in a tab of its own, which learns nothing of this one. */
  foreign?: boolean;
}

/** A link that looks like a button. */
export function ButtonLink({ kind = "ordinary", size = "medium", foreign, ref, ...rest }: ButtonLinkProps) {
  const className = classOf(kind, size);
  if (foreign)
    return <a ref={ref} {...rest} className={className} target="_blank" rel="noopener noreferrer" />;
  return <Link {...rest} className={className} />;
}

export interface IconButtonProps extends ComponentProps<"button"> {
  /** The name of the action, for the tooltip and for screen readers. */
  label: string;
  bordered?: boolean;
  children: ReactNode;
}

export function IconButton({ label, bordered, className, ...rest }: IconButtonProps) {
  const classes = [css.iconButton, bordered && css.bordered, className].filter(Boolean).join(" ");
  return (
    <button
      type="button"
      {...rest}
      className={classes}
      aria-label={visible(label)}
      title={visible(rest.title ?? label)}
    />
  );
}
