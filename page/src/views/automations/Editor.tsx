import { useQuery } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { request } from "../../api/client";
import { sendKeyed } from "../../api/keyed";
import { ApiProblem, hasStatus } from "../../api/problem";
import { keys, queryClient, useAgents } from "../../api/queries";
import type { AutomationView } from "../../api/types";
import { Button } from "../../kit/Button";
import { Dialog } from "../../kit/Dialog";
import { Callout, ErrorState, errorText } from "../../kit/ErrorState";
import { plural } from "../../kit/format";
import { EmptyState, Skeleton } from "../../kit/layout";
import { toast } from "../../kit/Toast";
import { visible } from "../../kit/visible";
import { type LeaveGuard, useLeaveGuard } from "../../shell/leaving";
import { addressOfAutomation } from "../addresses";
import { useRefusal } from "../refusal";
import css from "./automations.module.css";
import { discardDraft, KEY_TARGET, readDraft, removeDraft, writeDraft } from "./draft";
import { EditorConflict } from "./EditorConflict";
import { EditorFields } from "./EditorFields";
import { EditorPreview } from "./EditorPreview";
import { changed, EMPTY, FieldError, type Form, fieldOf, formOf, requestOf } from "./form";

interface Stored {
  view: AutomationView;
  etag: string | null;
}

/** The routes `/automations/new` and `/automations/:name/edit`. */
export default function Editor({ params }: { params: { name?: string } }) {
  const { name } = params;
  const stored = useQuery({
    queryKey: [...keys.automations, "edited", name],
    queryFn: async ({ signal }): Promise<Stored> => {
      const path = `/automations/${encodeURIComponent(name ?? "")}`;
      const { data, etag } = await request<AutomationView>("GET", path, { signal });
      return { view: data, etag };
    },
    enabled: name !== undefined,
    // A refetch must not change the form under a person's hands.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  if (name === undefined) return <EditorForm stored={null} />;
  if (stored.data === undefined) {
    return (
      <div className={css.detail}>
        {hasStatus(stored.error, 404) ? (
          <EmptyState
            text={`No automation is called “${visible(name)}”.`}
            action={<Link href="/automations">All automations</Link>}
          />
        ) : stored.error ? (
          <ErrorState error={stored.error} onRetry={() => stored.refetch()} />
        ) : (
          <Skeleton rows={8} />
        )}
      </div>
    );
  }
  return <EditorForm key={stored.data.view.id} stored={stored.data} />;
}

function EditorForm({ stored }: { stored: Stored | null }) {
  const [base, setBase] = useState(stored);
  const name = base?.view.name ?? null;
  const agents = useAgents();
  // The one agent needs no choice, so it is no change either.
  const onlyAgent = agents.data?.items.length === 1 ? agents.data.items[0]?.name : undefined;
  const before = base === null ? { ...EMPTY, agent: onlyAgent ?? "" } : formOf(base.view);
  const [restored] = useState(() => readDraft(name));
  const [form, setForm] = useState<Form>(restored ?? before);
  const [problem, setProblem] = useState<{ field: keyof Form | null; text: string; error?: unknown } | null>(
    null,
  );
  const [theirs, setTheirs] = useState<Stored | null>(null);
  const [busy, setBusy] = useState(false);
  const [, navigate] = useLocation();
  const refusal = useRefusal()("automations:write");
  const fields = useRef<HTMLFormElement>(null);
  const differs = changed(form, before);
  const guard = useLeaveGuard(differs.length > 0);
  useEffect(() => {
    if (differs.length === 0) discardDraft(name);
    else writeDraft(name, form);
  }, [form, differs.length, name]);
  useEffect(() => {
    if (onlyAgent !== undefined && base === null)
      setForm((now) => (now.agent === "" ? { ...now, agent: onlyAgent } : now));
  }, [onlyAgent, base]);
  useEffect(() => {
    if (problem?.field == null) return;
    fields.current
      ?.querySelector<HTMLElement>(`[data-field="${problem.field}"] :is(input, textarea, select)`)
      ?.focus();
  }, [problem]);
  const set = <F extends keyof Form>(field: F, value: Form[F]) => {
    setForm((now) => ({ ...now, [field]: value }));
    if (problem?.field === field) setProblem(null);
  };
  const save = async (reset = false) => {
    setProblem(null);
    setBusy(true);
    try {
      const body = requestOf(form, base?.view ?? null);
      const { data } =
        base === null
          ? await sendKeyed(KEY_TARGET, body, (idempotencyKey) =>
              request<AutomationView>("POST", "/automations", { body, idempotencyKey }),
            )
          : await request<AutomationView>("PUT", `/automations/${base.view.id}`, {
              body,
              query: reset ? { reset: true } : {},
              ...(base.etag === null ? {} : { ifMatch: base.etag }),
            });
      removeDraft(name);
      queryClient.invalidateQueries({ queryKey: keys.automations });
      queryClient.invalidateQueries({ queryKey: keys.overview });
      toast(base === null ? `${data.name} is added` : `${data.name} is saved`);
      guard.release();
      navigate(addressOfAutomation(data.name));
    } catch (error) {
      if (error instanceof FieldError) setProblem({ field: error.field, text: error.message });
      else if (hasStatus(error, 412) && base !== null) {
        await request<AutomationView>("GET", `/automations/${base.view.id}`).then(
          ({ data, etag }) => setTheirs({ view: data, etag }),
          (unread) => setProblem({ field: null, text: errorText(unread), error: unread }),
        );
      } else {
        const field = error instanceof ApiProblem ? fieldOf(error.problem.field) : null;
        setProblem({ field, text: errorText(error), error });
      }
    } finally {
      setBusy(false);
    }
  };
  const needsReset =
    problem?.error instanceof ApiProblem &&
    /reset/.test(`${problem.error.problem.detail} ${problem.error.problem.hint}`);
  return (
    <div className={css.editor}>
      <header className={css.editorHead}>
        <nav aria-label="Path">
          <Link href={name === null ? "/automations" : addressOfAutomation(name)}>
            {visible(name ?? "Automations")}
          </Link>
          <ChevronRight size={16} aria-hidden />
          <h1>{name === null ? "New" : "Edit"}</h1>
        </nav>
        <span className={css.space} />
        {base !== null && differs.length > 0 && (
          <span className={css.changes}>{plural(differs.length, "change")}</span>
        )}
        <Button
          kind="plain"
          size="large"
          disabled={differs.length === 0}
          onClick={() => {
            setForm(before);
            setProblem(null);
          }}
        >
          Discard
        </Button>
        <Button
          kind="primary"
          size="large"
          busy={busy}
          refusal={refusal}
          disabled={base !== null && differs.length === 0}
          onClick={() => save()}
        >
          {base === null ? "Add" : "Save"}
        </Button>
      </header>
      <form
        ref={fields}
        className={css.form}
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {restored !== null && differs.length > 0 && (
          <Callout title="This is your draft.">
            It was not saved. “Discard” goes back to what is stored.
          </Callout>
        )}
        {problem && problem.field === null && (
          <Callout
            kind="failed"
            title="It is not saved."
            action={
              needsReset && <Button onClick={() => save(true)}>Save and begin a new conversation</Button>
            }
          >
            {problem.text}
          </Callout>
        )}
        {problem && problem.field !== null && needsReset && (
          <Callout
            kind="failed"
            title="This needs a new conversation."
            action={<Button onClick={() => save(true)}>Save and begin a new conversation</Button>}
          >
            {problem.text}
          </Callout>
        )}
        {theirs !== null && (
          <EditorConflict
            mine={form}
            theirs={formOf(theirs.view)}
            onKeep={() => {
              setBase(theirs);
              setTheirs(null);
            }}
            onTake={(field) => set(field, formOf(theirs.view)[field] as never)}
          />
        )}
        <EditorFields context={{ form, before, isNew: base === null, problem, set }} />
        <button type="submit" className="visually-hidden" tabIndex={-1} aria-hidden="true">
          Save
        </button>
      </form>
      <EditorPreview form={form} before={base?.view ?? null} />
      {guard.asks && (
        <LeaveDialog
          guard={guard}
          note={
            name === null
              ? "The new automation is not added yet."
              : `${plural(differs.length, "change")} of ${name} ${differs.length === 1 ? "is" : "are"} not saved.`
          }
          onDiscard={() => discardDraft(name)}
        />
      )}
    </div>
  );
}

/** Asks what becomes of the changes. The draft lies in the browser already, so leaving keeps it. */
function LeaveDialog({ guard, note, onDiscard }: { guard: LeaveGuard; note: string; onDiscard(): void }) {
  const discard = () => {
    onDiscard();
    guard.leave();
  };
  return (
    <Dialog
      open
      onClose={guard.stay}
      title="Leave without saving?"
      note={`${note} This browser can keep the draft.`}
      foot={
        <>
          <Button onClick={guard.stay}>Keep editing</Button>
          <Button onClick={guard.leave}>Leave and keep the draft</Button>
          <Button kind="danger" onClick={discard}>
            Discard
          </Button>
        </>
      }
    />
  );
}
