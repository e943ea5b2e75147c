/** The items of a transcript. */
import {
  Brain,
  ChevronRight,
  CircleX,
  FileDiff,
  Info,
  ListChecks,
  Play,
  Repeat,
  Shield,
  Shrink,
  TriangleAlert,
  Webhook,
  Wrench,
} from "lucide-react";
import { memo, type ReactNode, useMemo, useState } from "react";
import { Link } from "wouter";
import type { Automation, Message } from "../../api/types";
import { sentence } from "../../kit/ErrorState";
import { clock, dayAndTime, dayHeading, duration, longTime, plural, shortId } from "../../kit/format";
import { lookOfRun, StatusGlyph, wordOf } from "../../kit/Status";
import { Duration } from "../../kit/Time";
import { visible, visibleLines } from "../../kit/visible";
import { views } from "../registry";
import css from "./conversation.module.css";
import { deniedCalls, type Item, type Work } from "./items";
import { Markdown } from "./Markdown";
import { noticeOf } from "./notices";
import { asText, type Diff, linesOf, mainField, toolOf } from "./tools";
import { usageText } from "./usage";

type Of<K extends Item["kind"]> = Extract<Item, { kind: K }>;

export const Row = memo(function Row({ item, automations }: { item: Item; automations: Automation[] }) {
  switch (item.kind) {
    case "day":
      return (
        <div className={css.day}>
          <span>{dayHeading(item.at)}</span>
        </div>
      );
    case "trigger":
      return <Trigger item={item} automations={automations} />;
    case "task":
      return <TaskPrompt item={item} />;
    case "person":
      return (
        <div className={css.person}>
          <div title={longTime(item.row.created_at)}>
            <span className="visually-hidden">You: </span>
            {item.receiver !== undefined && <p className={css.seat}>to {visible(item.receiver)}</p>}
            {item.row.content}
          </div>
        </div>
      );
    case "work":
      return <WorkLine work={item.work} />;
    case "diff":
      return <DiffCard diff={item.diff} />;
    case "failed-tool":
      return (
        <div className={css.tools}>
          <ToolRow row={item.row} denied={item.denied} />
        </div>
      );
    case "answer":
      return (
        <div className={css.answer}>
          {item.seat !== undefined && <p className={css.seat}>{item.seat}</p>}
          <Markdown text={item.text} live={item.live} />
        </div>
      );
    case "notice":
      return <NoticeLine row={item.row} />;
    case "working":
      return (
        <p className={css.notice}>
          <StatusGlyph look="running" /> at work
          {item.run.started_at && (
            <>
              {" "}
              for <Duration from={item.run.started_at} to={null} />
            </>
          )}
        </p>
      );
    case "end":
      return <End item={item} />;
  }
});

const SEVERITY_ICONS = { info: Info, warning: TriangleAlert, error: CircleX };

function NoticeLine({ row }: { row: Message }) {
  const notice = noticeOf(row);
  if (notice.from === "matins") return <p className={css.notice}>{notice.text}</p>;
  if (notice.from === "compaction") {
    const line = (
      <>
        <Shrink size={16} aria-hidden /> {notice.text}
        {notice.status === "running" && <StatusGlyph look="running" />}
      </>
    );
    if (notice.summary === null) return <p className={css.notice}>{line}</p>;
    return (
      <details className={css.compaction}>
        <summary className={css.notice}>{line}</summary>
        <div className={css.thoughts}>
          <Markdown text={notice.summary} />
        </div>
      </details>
    );
  }
  const Icon = SEVERITY_ICONS[notice.severity];
  return (
    <p className={css.notice}>
      <Icon size={16} aria-hidden />
      <span>
        <span className="visually-hidden">The agent, {notice.severity}: </span>
        <strong>{notice.title}</strong>
        {notice.description !== null && ` ${notice.description}`}
      </span>
    </p>
  );
}

function RunLink({ id }: { id: string }) {
  const text = `run ${shortId(id)}`;
  return views.some((view) => view.pattern.startsWith("/runs/")) ? (
    <Link href={`/runs/${id}`}>{text}</Link>
  ) : (
    <span title={id}>{text}</span>
  );
}

/** The kind of the trigger that began a run, if the list of automations still has it. */
export function triggerKind(automations: Automation[], trigger: string | null | undefined): string | null {
  if (trigger == null) return null;
  for (const automation of automations) {
    const found = automation.triggers.find((each) => each.id === trigger);
    if (found) return found.spec.kind;
  }
  return null;
}

function Trigger({ item, automations }: { item: Of<"trigger">; automations: Automation[] }) {
  const { run, row, name } = item;
  const kind = triggerKind(automations, run?.trigger_id);
  const [open, setOpen] = useState(false);
  const Icon = kind === "webhook" ? Webhook : kind === "manual" ? Play : Repeat;
  const time = clock(row.created_at);
  const due = run?.scheduled_for ? dayAndTime(run.scheduled_for, Date.parse(row.created_at)) : null;
  const word =
    kind === "webhook"
      ? `ran on a webhook at ${time}`
      : kind === "manual" || due === null
        ? `was started by hand at ${time}`
        : `ran, due ${due}`;
  return (
    <div className={css.trigger}>
      <div className={css.triggerLine}>
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)} title="Show what was sent">
          <Icon size={16} aria-hidden />
          <strong>{visible(name)}</strong> <span>{word}</span>
          {run && run.status !== "running" && (
            <StatusGlyph look={lookOfRun(run)} title={wordOf(lookOfRun(run))} />
          )}
        </button>
        <i aria-hidden="true" />
        {row.run_id && <RunLink id={row.run_id} />}
      </div>
      {open && (
        <div className={css.sent}>
          {kind === "webhook" && <span className={css.outside}>from outside</span>}
          <p>{row.content}</p>
        </div>
      )}
    </div>
  );
}

/** The prompt of a goal's task, which Matins has written. */
function TaskPrompt({ item }: { item: Of<"task"> }) {
  const { row, seat, task } = item;
  const [open, setOpen] = useState(false);
  return (
    <div className={css.trigger}>
      <div className={css.triggerLine}>
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          title={`Show the prompt of ${longTime(row.created_at)}`}
        >
          <ListChecks size={16} aria-hidden />
          <span>
            Matins to <strong>{seat}</strong>, task <strong>{task}</strong>
          </span>
        </button>
        <i aria-hidden="true" />
        {row.run_id && <RunLink id={row.run_id} />}
      </div>
      {open && (
        <div className={css.sent}>
          <p>{row.content}</p>
        </div>
      )}
    </div>
  );
}

function Chip(props: { icon: ReactNode; label: string; note?: string; open: boolean; onToggle(): void }) {
  return (
    <button type="button" className={css.chip} aria-expanded={props.open} onClick={props.onToggle}>
      <ChevronRight size={14} aria-hidden />
      {props.icon}
      <span>{props.label}</span>
      {props.note && <small>{props.note}</small>}
    </button>
  );
}

function WorkLine({ work }: { work: Work }) {
  const [open, setOpen] = useState<"thoughts" | "tools" | "denied" | "plan" | null>(null);
  const toggle = (which: NonNullable<typeof open>) => () => setOpen(open === which ? null : which);
  const { thoughts, tools, denied, plan } = work;
  const running = tools.find((row) => ["pending", "in_progress"].includes(toolOf(row).status));
  const deniedIds = deniedCalls(denied);
  const times = tools.map((row) => toolOf(row).durationMs);
  const total = times.every((time) => time !== null)
    ? times.reduce((sum: number, time) => sum + (time ?? 0), 0)
    : null;
  const steps = plan ? stepsOf(plan) : [];
  const done = steps.filter((step) => step.status === "completed").length;
  return (
    <div className={css.work}>
      <div className={css.chips}>
        {thoughts.length > 0 && (
          <Chip
            icon={<Brain size={14} aria-hidden />}
            label={thoughts.length === 1 ? "Thought" : `${thoughts.length} thoughts`}
            open={open === "thoughts"}
            onToggle={toggle("thoughts")}
          />
        )}
        {tools.length > 0 && (
          <Chip
            icon={<Wrench size={14} aria-hidden />}
            label={plural(tools.length, "tool")}
            {...(total !== null ? { note: duration(total) } : running ? { note: running.content } : {})}
            open={open === "tools"}
            onToggle={toggle("tools")}
          />
        )}
        {denied.length > 0 && (
          <Chip
            icon={<Shield size={14} aria-hidden />}
            label={`${denied.length} denied`}
            open={open === "denied"}
            onToggle={toggle("denied")}
          />
        )}
        {plan && (
          <Chip
            icon={<ListChecks size={14} aria-hidden />}
            label="Plan"
            note={`${done} of ${steps.length}`}
            open={open === "plan"}
            onToggle={toggle("plan")}
          />
        )}
      </div>
      {open === "thoughts" && (
        <div className={css.thoughts}>
          {thoughts.map((row) => (
            <Markdown key={row.id} text={row.content} />
          ))}
        </div>
      )}
      {open === "tools" && (
        <div className={css.tools}>
          {tools.map((row) => (
            <ToolRow key={row.id} row={row} denied={deniedIds.has(toolOf(row).call)} />
          ))}
        </div>
      )}
      {open === "denied" && (
        <div className={css.thoughts}>
          {denied.map((row) => (
            <p key={row.id}>{row.content}</p>
          ))}
        </div>
      )}
      {open === "plan" && plan && <Steps plan={plan} />}
    </div>
  );
}

interface Step {
  content: string;
  status: string;
}

export function stepsOf(plan: Message): Step[] {
  const { entries } = (plan.metadata ?? {}) as { entries?: unknown };
  if (!Array.isArray(entries)) return [];
  return entries.filter(
    (entry): entry is Step => typeof entry?.content === "string" && typeof entry?.status === "string",
  );
}

export function Steps({ plan }: { plan: Message }) {
  return (
    <ol className={css.steps}>
      {stepsOf(plan).map((step, index) => {
        const look =
          step.status === "completed" ? "succeeded" : step.status === "in_progress" ? "running" : "queued";
        const word =
          step.status === "completed" ? "done" : step.status === "in_progress" ? "in progress" : "to do";
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: agents may repeat a step.
          <li key={index} data-now={look === "running"}>
            <StatusGlyph look={look} title={word} size={14} />
            <span>{step.content}</span>
          </li>
        );
      })}
    </ol>
  );
}

const SHOWN_LINES = 200;

function LongText({ text, label }: { text: string; label: string }) {
  const [all, setAll] = useState(false);
  const lines = text.split("\n");
  const cut = !all && lines.length > SHOWN_LINES;
  return (
    <div className={css.value}>
      <span>{label}</span>
      <pre tabIndex={0}>{cut ? lines.slice(0, SHOWN_LINES).join("\n") : text}</pre>
      {cut && (
        <button type="button" className={css.more} onClick={() => setAll(true)}>
          Show all {lines.length} lines
        </button>
      )}
    </div>
  );
}

function ToolRow({ row, denied }: { row: Message; denied: boolean }) {
  const [open, setOpen] = useState(false);
  const tool = toolOf(row);
  const look = tool.status === "completed" ? "succeeded" : tool.status === "failed" ? "failed" : "running";
  const title = row.content || mainField(tool.input) || tool.kind;
  const word = denied
    ? "denied"
    : tool.status === "failed"
      ? "failed"
      : tool.durationMs !== null
        ? duration(tool.durationMs)
        : "";
  const input = asText(tool.input);
  const output = asText(tool.output);
  return (
    <div className={css.tool}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight size={14} aria-hidden />
        <StatusGlyph look={look} title={wordOf(look)} />
        <code className="truncate">{visibleLines(title)}</code>
        {word && <small data-failed={tool.status === "failed"}>{word}</small>}
      </button>
      {open && (
        <div className={css.toolBody}>
          {input !== "" && <LongText label="Input" text={input} />}
          {output !== "" && <LongText label="Output" text={output} />}
          {input === "" && output === "" && (
            <span className={css.none}>The agent reported neither input nor output.</span>
          )}
        </div>
      )}
    </div>
  );
}

function DiffCard({ diff }: { diff: Diff }) {
  const [open, setOpen] = useState(true);
  const [all, setAll] = useState(false);
  const { lines, added, deleted } = useMemo(() => linesOf(diff), [diff]);
  const cut = !all && lines.length > SHOWN_LINES;
  const shown = cut ? lines.slice(0, SHOWN_LINES) : lines;
  return (
    <figure className={css.diff}>
      <figcaption>
        <FileDiff size={16} aria-hidden />
        <code className="truncate">{diff.path}</code>
        <span className={css.plus}>+{added}</span>
        <span className={css.minus}>−{deleted}</span>
        <button type="button" className={css.more} aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Fold" : "Show"}
        </button>
      </figcaption>
      {open && (
        <div className={css.diffLines} role="region" aria-label={`Changes of ${diff.path}`} tabIndex={0}>
          <table>
            <tbody>
              {shown.map((line, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity.
                <tr key={index} data-kind={line.kind}>
                  <td>{line.before}</td>
                  <td>{line.after}</td>
                  <td>
                    {line.kind === "added"
                      ? "+"
                      : line.kind === "deleted"
                        ? "-"
                        : line.kind === "gap"
                          ? "⋯"
                          : ""}
                  </td>
                  <td>{line.text}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {cut && (
            <button type="button" className={css.more} onClick={() => setAll(true)}>
              Show all {lines.length} lines
            </button>
          )}
        </div>
      )}
    </figure>
  );
}

function End({ item }: { item: Of<"end"> }) {
  const { run, at } = item;
  const look = lookOfRun(run);
  const bad = look !== "succeeded";
  const why = run.message ?? run.reason;
  return (
    <div className={css.end}>
      {bad && (
        <p className={css.outcome}>
          <StatusGlyph look={look} />
          <span>
            <strong>{wordOf(look)}</strong>
            {why && `: ${sentence(why)}`}
          </span>
        </p>
      )}
      <p>
        <time dateTime={at} title={longTime(at)}>
          {clock(at)}
        </time>
        {run.started_at && <> · {duration(Date.parse(at) - Date.parse(run.started_at))}</>}
        {" · "}
        {usageText(run.usage)}
        {run.flags.answer_cut && " · the answer was too long and is cut"}
        {run.flags.empty_answer && " · the agent gave no answer"}
      </p>
    </div>
  );
}
