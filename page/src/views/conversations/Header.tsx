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
import { memo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import type { Goal, SessionView } from "../../api/types";
import { ActionDialog } from "../../kit/ActionDialog";
import { Button, ButtonLink, IconButton } from "../../kit/Button";
import { Menu } from "../../kit/Menu";
import { Status } from "../../kit/Status";
import { useKey } from "../../shell/keys";
import { addressOfArtifacts, addressOfGoal } from "../addresses";
import { useInert } from "../approvals/decision";
import { moveGoal } from "../goals/actions";
import { usePlace } from "../instances";
import { useRefusal } from "../refusal";
import { cancelRuns, exportSession, moveSession } from "./actions";
import css from "./conversation.module.css";
import { completionText, moveOfHead, stateOfHead } from "./head";
import { titleOf } from "./names";
import { Title } from "./Title";

export interface HeaderProps {
  view: SessionView;
  /** The goal of the conversation: null if there is none, undefined until that is known. */
  goal: Goal | null | undefined;
  agent: string;
  waitsForYou: boolean;
  onDelete(): void;
  onPanel(): void;
}

export const Header = memo(function Header(props: HeaderProps) {
  const { view, goal, agent, waitsForYou, onDelete, onPanel } = props;
  const [, navigate] = useLocation();
  const [confirm, setConfirm] = useState<"complete" | "archive" | null>(null);
  const refusal = useRefusal()("sessions:write");
  // Both end a goal, which the dialog must name.
  const endRefusal = refusal ?? (goal === undefined ? "the goal of this conversation is not read yet" : null);
  const state = stateOfHead(view, goal, waitsForYou);
  const move = moveOfHead(view, goal);
  const seat = view.seats.find((seat) => seat.is_entry);
  const place = usePlace(seat);
  const isRemoved = seat?.removed_instance != null;
  const act = () => {
    if (move === null || refusal !== null) return;
    if (move.of === "session") void moveSession(view, move.move);
    else if (goal) void moveGoal(goal, move.move);
  };
  useKey("p", () => {
    if (move?.hasKey) act();
  });
  const moveButton = useRef<HTMLButtonElement>(null);
  const inert = useInert(move?.word ?? "", moveButton);
  const moveIcon = (size: number) =>
    move?.move === "pause" ? <Pause size={size} aria-hidden /> : <Play size={size} aria-hidden />;
  const path = view.cwd ?? view.own_folder ?? null;
  const directory = path === null ? "its own folder" : <Path path={path} />;
  return (
    <header className={css.header}>
      <Link href="/conversations" className={css.back} aria-label="Conversations">
        <ArrowLeft size={20} aria-hidden />
      </Link>
      <div className={css.heading}>
        <Title key={view.id} view={view} disabled={refusal !== null} />
        {state && (
          <span className={css.headingStatus}>
            <Status title={state.word} {...state} />
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
      {goal && (
        <ButtonLink size="large" href={addressOfGoal(goal.id)} aria-label="The goal of this conversation">
          Goal
        </ButtonLink>
      )}
      {move && (
        <Button
          ref={moveButton}
          size="large"
          refusal={refusal}
          aria-disabled={inert}
          onClick={() => !inert && act()}
          className={css.desktopOnly}
        >
          {moveIcon(14)} {move.word}
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
          ...(move ? [{ label: move.label, icon: moveIcon(16), refusal, onSelect: act }] : []),
          {
            label: "Cancel all runs",
            icon: <Square size={16} aria-hidden />,
            refusal: refusal ?? (view.open_runs.length === 0 ? "nothing runs or waits" : null),
            onSelect: () => cancelRuns(view),
          },
          {
            label: "Complete",
            icon: <CircleCheck size={16} aria-hidden />,
            refusal: endRefusal ?? (view.state === "active" ? null : "needs an active conversation"),
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
            refusal: endRefusal,
            onSelect: onDelete,
          },
        ]}
      />
      {confirm === "complete" && (
        <ActionDialog
          title={`Complete “${titleOf(view)}”?`}
          note={completionText(goal ?? null)}
          action="Complete"
          kind="primary"
          act={() => moveSession(view, "complete")}
          onClose={() => setConfirm(null)}
        />
      )}
      {confirm === "archive" && (
        <ActionDialog
          title={`Archive “${titleOf(view)}”?`}
          note="It leaves the lists of active conversations. This cannot be undone."
          action="Archive"
          kind="primary"
          act={() => moveSession(view, "archive")}
          onClose={() => setConfirm(null)}
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
