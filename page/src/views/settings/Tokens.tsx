import { useState } from "react";
import { request } from "../../api/client";
import { keyedSender } from "../../api/keyed";
import { useWhoami } from "../../api/queries";
import type { Role, Token, TokenCreated, TokenRevoked } from "../../api/types";
import { Button } from "../../kit/Button";
import { dayAndTime, plural } from "../../kit/format";
import { Field, SelectField } from "../../kit/layout";
import { toast } from "../../kit/Toast";
import { visible } from "../../kit/visible";
import { useRefusal } from "../refusal";
import { ConfirmDialog, FormDialog, List, refetch, Secret } from "./parts";
import css from "./settings.module.css";

const ROLES: { value: Role; label: string }[] = [
  { value: "viewer", label: "viewer: reads" },
  { value: "member", label: "member: works with conversations, automations and approvals" },
  { value: "admin", label: "admin: everything" },
];

const LIVES: { value: string; label: string; days: number | null }[] = [
  { value: "1", label: "a day", days: 1 },
  { value: "7", label: "7 days", days: 7 },
  { value: "", label: "as long as this browser is signed in", days: null },
];

export function Tokens() {
  const refusal = useRefusal()("tokens:write");
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<TokenCreated | null>(null);
  return (
    <>
      <div className={css.actions}>
        <Button refusal={refusal} onClick={() => setAdding(true)}>
          New token
        </Button>
      </div>
      {made && <Secret title={`The token ${made.name}`} secret={made.secret} onDone={() => setMade(null)} />}
      <List<Token>
        path="/tokens"
        empty="No token yet."
        command="matins token create laptop --role member"
        keyOf={(token) => token.id}
        render={(token) => <TokenRow token={token} refusal={refusal} />}
      />
      {adding && <AddToken onClose={() => setAdding(false)} onMade={setMade} />}
    </>
  );
}

function TokenRow({ token, refusal }: { token: Token; refusal: string | null }) {
  const whoami = useWhoami();
  const [revoking, setRevoking] = useState(false);
  const [cascade, setCascade] = useState(false);
  const own = whoami.data?.token === token.id;
  const over = token.revoked_at !== null;
  return (
    <div className={css.row} data-over={over}>
      <div>
        <strong>{visible(token.name)}</strong>
        <span>
          {token.role}
          {own && ", yours"}
        </span>
        <small>
          <code>{token.secret_prefix}…</code> made {dayAndTime(token.created_at)}
          {token.last_used_at ? `, used ${dayAndTime(token.last_used_at)}` : ", never used"}
          {over
            ? `, revoked ${dayAndTime(token.revoked_at as string)}`
            : token.expires_at
              ? `, until ${dayAndTime(token.expires_at)}`
              : ""}
        </small>
      </div>
      {!over && (
        <Button
          size="small"
          refusal={refusal}
          onClick={() => setRevoking(true)}
          aria-label={`Revoke ${visible(token.name)}`}
        >
          Revoke
        </Button>
      )}
      {revoking && (
        <ConfirmDialog
          title={`Revoke the token ${token.name}?`}
          note={
            <>
              Programs and browsers that use it are signed out at once{own && ", this browser too"}.
              <label className={css.check}>
                <input
                  type="checkbox"
                  defaultChecked={cascade}
                  onChange={(event) => setCascade(event.target.checked)}
                />
                Also revoke the tokens that it made
              </label>
            </>
          }
          action="Revoke"
          confirm={async () => {
            const { data } = await request<TokenRevoked>("DELETE", `/tokens/${token.id}`, {
              query: cascade ? { cascade: true } : {},
            });
            refetch("tokens");
            toast(
              `${token.name} is revoked${data.also_revoked > 0 ? `, with ${plural(data.also_revoked, "more", "more")}` : ""}${
                data.still_valid > 0 ? `. ${plural(data.still_valid, "token")} that it made stay valid` : ""
              }`,
            );
          }}
          onClose={() => setRevoking(false)}
        />
      )}
    </div>
  );
}

function AddToken({ onClose, onMade }: { onClose(): void; onMade(token: TokenCreated): void }) {
  const [sendKeyed] = useState(keyedSender);
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("member");
  const [life, setLife] = useState("");
  // The instant belongs to the choice, so that a second try is the same request.
  const [expires, setExpires] = useState<string | null>(null);
  const choose = (value: string) => {
    const days = LIVES.find((each) => each.value === value)?.days ?? null;
    setLife(value);
    setExpires(days === null ? null : new Date(Date.now() + days * 86_400_000).toISOString());
  };
  return (
    <FormDialog
      title="New token"
      note={
        <>
          A token signs a program or a browser in, at most as long as this browser is signed in. For a longer
          one, use <code>matins token create</code> on the server. The secret is shown once.
        </>
      }
      action="Make it"
      submit={async () => {
        const body = { name: name.trim(), role, ...(expires === null ? {} : { expires_at: expires }) };
        const { data } = await sendKeyed(body, (idempotencyKey) =>
          request<TokenCreated>("POST", "/tokens", { body, idempotencyKey }),
        );
        refetch("tokens");
        onMade(data);
      }}
      onClose={onClose}
    >
      <Field label="Name" value={name} required onChange={(event) => setName(event.target.value)} />
      <SelectField label="Role" value={role} onChange={(event) => setRole(event.target.value as Role)}>
        {ROLES.map((each) => (
          <option key={each.value} value={each.value}>
            {each.label}
          </option>
        ))}
      </SelectField>
      <SelectField label="Valid for" value={life} onChange={(event) => choose(event.target.value)}>
        {LIVES.map((each) => (
          <option key={each.value} value={each.value}>
            {each.label}
          </option>
        ))}
      </SelectField>
    </FormDialog>
  );
}
