import {
  Archive,
  ArrowLeft,
  Bot,
  CircleCheck,
  Ellipsis,
  FileDown,
  Folder,
  Package,
  PanelRight,
  Pause,
  Play,
  Server,
  Square,
  Trash2,
} from "lucide-react";
import { type FormEvent, memo, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { type Result, request } from "../../api/client";
import { hasStatus } from "../../api/problem";
import { usePermission } from "../../api/queries";
import type { SessionView } from "../../api/types";
import { Button, ButtonLink, IconButton } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { errorText } from "../../kit/ErrorState";
import { Menu } from "../../kit/Menu";
import { fileTitle, type Look, lookOfSession, Status } from "../../kit/Status";
import { toast } from "../../kit/Toast";
import { useConnection } from "../../shell/connection";
import { useKey } from "../../shell/keys";
import { addressOfArtifacts, addressOfGoal } from "../addresses";
import { useGoalOf } from "../goals/goal-of-session";
import { usePlace } from "../instances";
import { cancelRuns, exportSession, moveSession, renameSession } from "./actions";
import css from "./conversation.module.css";
import { titleOf } from "./names";

export interface HeaderProps {
  view: SessionView;
  agent: string;
  waitsForYou: boolean;
  onDelete(): void;
  onPanel(): void;
}

export const Header = memo(function Header(props: HeaderProps) {
  const { view, agent, waitsForYou, onDelete, onPanel } = props;
  const may = usePermission();
  const [, navigate] = useLocation();
  const { online } = useConnection();
  const [confirm, setConfirm] = useState<"complete" | "archive" | null>(null);
  const refusal = !online
    ? "There is no connection"
    : may("sessions:write")
      ? null
      : "Your role does not permit this: it needs sessions:write";
  const running = view.open_runs.some((run) => run.status === "running");
  const file = view.open_runs.find((run) => run.blocked_on?.for === "runtime")?.blocked_on;
  const look: Look | null = waitsForYou
    ? "waits"
    : running
      ? "running"
      : (lookOfSession(view.state) ?? (file ? "delivered" : null));
  const seat = view.seats.find((seat) => seat.is_entry);
  const place = usePlace(seat);
  const isRemoved = seat?.removed_instance != null;
  const goal = useGoalOf(view);
  const pausable = view.state === "active" ? "pause" : view.state === "paused" ? "resume" : null;
  const toggle = () => pausable && refusal === null && moveSession(view, pausable);
  useKey("p", () => {
    toggle();
  });
  const path = view.cwd ?? view.own_folder ?? null;
  const directory = path === null ? "its own folder" : <Path path={path} />;
  return (
    <header className={css.header}>
      <Link href="/conversations" className={css.back} aria-label="Conversations">
        <ArrowLeft size={20} aria-hidden />
      </Link>
      <div className={css.heading}>
        <Title key={view.id} view={view} disabled={refusal !== null} />
        {look && (
          <span className={css.headingStatus}>
            <Status
              look={look}
              title={look === "delivered" && file?.for === "runtime" ? fileTitle(file.name) : undefined}
            />
          </span>
        )}
        <span className={css.headingNote}>
          {agent} in {directory}
          {place !== null && `, on ${place}`}
        </span>
      </div>
      <span className={css.fact}>
        <Bot size={16} aria-hidden /> {agent}
      </span>
      <span className={css.fact} title={path ?? undefined}>
        <Folder size={16} aria-hidden /> {directory}
      </span>
      {place !== null && (
        <span
          className={`${css.fact} ${isRemoved ? css.factGone : ""}`}
          title={isRemoved ? "Its instance was removed, so that its turns fail" : "Its turns run there"}
        >
          <Server size={16} aria-hidden /> {place}
        </span>
      )}
      {goal !== undefined && (
        <ButtonLink size="large" href={addressOfGoal(goal.id)} aria-label="The goal of this conversation">
          Goal
        </ButtonLink>
      )}
      {pausable && (
        <Button size="large" refusal={refusal} onClick={toggle} className={css.desktopOnly}>
          {pausable === "pause" ? <Pause size={14} aria-hidden /> : <Play size={14} aria-hidden />}
          {pausable === "pause" ? "Pause" : "Resume"}
        </Button>
      )}
      {view.state === "draft" && (
        <Button size="large" refusal={refusal} onClick={() => moveSession(view, "enable")}>
          <Play size={14} aria-hidden /> Enable
        </Button>
      )}
      <IconButton label="Details" className={css.panelToggle} onClick={onPanel}>
        <PanelRight size={16} aria-hidden />
      </IconButton>
      <Menu
        trigger={
          <IconButton bordered label="Conversation menu">
            <Ellipsis size={16} aria-hidden />
          </IconButton>
        }
        items={[
          ...(pausable
            ? [
                {
                  label: pausable === "pause" ? "Pause conversation" : "Resume conversation",
                  icon:
                    pausable === "pause" ? <Pause size={16} aria-hidden /> : <Play size={16} aria-hidden />,
                  refusal,
                  onSelect: toggle,
                },
              ]
            : []),
          {
            label: "Cancel all runs",
            icon: <Square size={16} aria-hidden />,
            refusal: refusal ?? (view.open_runs.length === 0 ? "nothing runs or waits" : null),
            onSelect: () => cancelRuns(view),
          },
          {
            label: "Complete",
            icon: <CircleCheck size={16} aria-hidden />,
            refusal: refusal ?? (view.state === "active" ? null : "needs an active conversation"),
            onSelect: () => setConfirm("complete"),
          },
          {
            label: "Archive",
            icon: <Archive size={16} aria-hidden />,
            refusal:
              refusal ??
              (view.state === "done" || view.state === "failed" ? null : "needs a completed conversation"),
            onSelect: () => setConfirm("archive"),
          },
          null,
          {
            label: "Artifacts",
            icon: <Package size={16} aria-hidden />,
            onSelect: () => navigate(addressOfArtifacts(view.id)),
          },
          {
            label: "Export as Markdown",
            icon: <FileDown size={16} aria-hidden />,
            onSelect: () => exportSession(view, "markdown"),
          },
          {
            label: "Export as JSON Lines",
            icon: <FileDown size={16} aria-hidden />,
            onSelect: () => exportSession(view, "jsonl"),
          },
          null,
          {
            label: "Delete",
            icon: <Trash2 size={16} aria-hidden />,
            danger: true,
            refusal,
            onSelect: onDelete,
          },
        ]}
      />
      {confirm && (
        <Dialog
          open
          onClose={() => setConfirm(null)}
          title={confirm === "complete" ? `Complete “${titleOf(view)}”?` : `Archive “${titleOf(view)}”?`}
          note={
            confirm === "complete"
              ? "A running turn ends as usual. Waiting inputs are cancelled, and new ones are refused. This cannot be undone."
              : "It leaves the lists of active conversations. This cannot be undone."
          }
          foot={
            <>
              <Button onClick={() => setConfirm(null)}>Keep</Button>
              <Button
                kind="primary"
                onClick={() => {
                  setConfirm(null);
                  moveSession(view, confirm);
                }}
              >
                {confirm === "complete" ? "Complete" : "Archive"}
              </Button>
            </>
          }
        />
      )}
    </header>
  );
});

/** Shortens a path to its last two parts. Returns `null` for the folder that Matins made for the session. */
export function shortPath(path: string): string | null {
  const parts = path.split("/").filter(Boolean);
  if (/^ses_[0-9a-f]{20,}$/.test(parts.at(-1) ?? "")) return null;
  return parts.length <= 2 ? path : `…/${parts.slice(-2).join("/")}`;
}

function Path({ path }: { path: string }) {
  const short = shortPath(path);
  return short === null ? <span>its own folder</span> : <code className="truncate">{short}</code>;
}

function Title({ view, disabled }: { view: SessionView; disabled: boolean }) {
  const [editing, setEditing] = useState(false);
  /** The text of an edit that is not saved; null if there is none. */
  const [text, setText] = useState<string | null>(null);
  const [conflict, setConflict] = useState<string | null>(null);
  /** The title as the edit found it. A rename by another person must not change the text under a person's hands. */
  const before = useRef("");
  const read = useRef<Promise<Result<SessionView>> | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const leave = useRef(false);
  /** The number of edits, so that the end of a rename leaves an edit alone that has begun meanwhile. */
  const edits = useRef(0);
  useEffect(() => {
    if (editing) input.current?.select();
  }, [editing]);
  /** Reads the tag of the title as it is now, so that a change by another person is not overwritten. */
  const follow = (title: string) => {
    read.current = request<SessionView>("GET", `/sessions/${view.id}`);
    read.current.catch(() => undefined);
    before.current = title;
  };
  const begin = () => {
    follow(view.title ?? "");
    edits.current += 1;
    leave.current = false;
    setText((unsaved) => unsaved ?? before.current);
    setEditing(true);
  };
  useKey("e", () => !disabled && begin());
  const showConflict = (stored: Result<SessionView>, title: string) => {
    read.current = Promise.resolve(stored);
    // Ends an edit that began after this rename. The dialog has its text.
    leave.current = true;
    setEditing(false);
    setText((unsaved) => unsaved ?? title);
    setConflict(stored.data.title ?? "");
  };
  const rename = async (title: string) => {
    const edit = edits.current;
    try {
      const stored = await read.current;
      // The title has changed before the edit began, but the page did not know it yet.
      if (stored && (stored.data.title ?? "") !== before.current) return showConflict(stored, title);
      await renameSession(view.id, title === "" ? null : title, stored?.etag ?? null);
      if (edits.current === edit) setText(null);
      else follow(title);
    } catch (error) {
      const stored = hasStatus(error, 412)
        ? await request<SessionView>("GET", `/sessions/${view.id}`).catch(() => null)
        : null;
      if (stored) showConflict(stored, title);
      else toast(errorText(error));
    }
  };
  const save = (event?: FormEvent) => {
    event?.preventDefault();
    if (leave.current) return;
    leave.current = true;
    setEditing(false);
    const title = text?.trim() ?? before.current;
    if (title === before.current) setText(null);
    else void rename(title);
  };
  if (conflict !== null) {
    const close = () => {
      setConflict(null);
      setText(null);
    };
    return (
      <Dialog
        open
        onClose={close}
        title="The title has changed meanwhile"
        note="Another person has renamed this conversation."
        foot={
          <>
            <Button onClick={close}>Keep theirs</Button>
            <Button
              kind="primary"
              onClick={() => {
                setConflict(null);
                before.current = conflict;
                if (text !== null) void rename(text.trim());
              }}
            >
              Use mine
            </Button>
          </>
        }
      >
        <dl className={css.versions}>
          <dt>Theirs</dt>
          <dd>{conflict || "no title"}</dd>
          <dt>Yours</dt>
          <dd>{text}</dd>
        </dl>
      </Dialog>
    );
  }
  if (editing) {
    return (
      <form onSubmit={save} className={css.titleForm}>
        <input
          ref={input}
          aria-label="Title"
          value={text ?? ""}
          maxLength={200}
          onChange={(event) => setText(event.target.value)}
          onBlur={() => save()}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              leave.current = true;
              setText(null);
              setEditing(false);
            }
          }}
        />
      </form>
    );
  }
  return (
    <h1 className={css.title}>
      <button type="button" disabled={disabled} title={disabled ? undefined : "Rename"} onClick={begin}>
        {titleOf(view)}
      </button>
    </h1>
  );
}
