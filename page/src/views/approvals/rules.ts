/** Proposes the rule that would allow a request from now on, and nothing more than this request. */
import type { Approval, PermissionRule } from "../../api/types";

/** The words of a command that a pattern can stand for exactly: no quotes, wildcards or other marks of a shell. */
const PLAIN = /^[A-Za-z0-9_@%+:,./ -]+$/;

/** A shell with a script or options. The server compares the script, or finds it uncertain. */
const SHELL_CALL = /^([^ ]*\/)?((a|ba|da|k|mk|rba|z)?sh [-+]|(busybox|csh|fish|nu|pwsh|tcsh)( |$))/;

// The next five are those of the server. A test compares them.
export const COMMAND_FIELDS = words("argv bashscript cmdline commandline script shellscript");
export const LIST_FIELDS = words("cmds commands scripts");
export const ARGUMENT_FIELD_ENDS = words("args arguments parameters params");
export const EDITOR_OPERATIONS = words("create insert str_replace undo_edit view write");
/** The fields that do not change what a command beside them does. */
export const HARMLESS_FIELDS = words(`
  approvalid approvedexecpolicyamendment availabledecisions background blocking callid completedatms
  currentworkingdirectory cwd description dir directory dirpath explanation id initialwait isbackground
  justification kind login maxoutputlength maxoutputtokens maxwaitseconds mode name outputbytelimit path
  processid proposedexecpolicyamendment purpose query reason requestid requiresapproval risk risklevel
  risklevelreason runinbackground securityrisk server sessionid source startedatms summary threadid timeout
  timeoutms timeoutsec timeoutsecs timeoutseconds title tool toolcallid toolname tooluseid tty turnid type
  wait workdir workingdir workingdirectory yieldtimems
`);

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}

function plainName(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase();
}

function isCommandField([name, value]: [string, unknown]): boolean {
  const plain = plainName(name);
  const isName = /(command|cmd)$/.test(plain) || COMMAND_FIELDS.has(plain) || LIST_FIELDS.has(plain);
  return isName && value !== null && !(typeof value === "string" && EDITOR_OPERATIONS.has(value));
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** `true` if a field of the input, or of a value below it, has a command. */
function hasCommand(input: unknown): boolean {
  const pending = [input].filter(isObject);
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (!Array.isArray(value) && Object.entries(value).some(isCommandField)) return true;
    for (const inner of Object.values(value)) if (isObject(inner)) pending.push(inner);
  }
  return false;
}

/** `true` for a value that is empty or a flag that is off, and for one of a harmless field without objects in it. */
function isHarmless([name, value]: [string, unknown]): boolean {
  const plain = plainName(name);
  const isKnown = HARMLESS_FIELDS.has(plain);
  // `false` as an argument is one more word of the command.
  if (value === false) return ![...ARGUMENT_FIELD_ENDS].some((end) => plain.endsWith(end));
  if (!isObject(value)) return isKnown || value === null || value === "";
  const inner = Object.values(value);
  return inner.length === 0 || (isKnown && Array.isArray(value) && !inner.some(isObject));
}

/** Returns the command of an input. Returns null if no pattern could allow it: the server finds it uncertain. */
function certainCommand(input: unknown): string | null {
  if (!isObject(input) || Array.isArray(input)) return null;
  const fields = Object.entries(input);
  const [command, ...others] = fields.filter(isCommandField);
  if (command === undefined || others.length > 0) return null;
  if (!fields.every((field) => field[0] === command[0] || isHarmless(field))) return null;
  const text = command[1];
  if (typeof text !== "string" || !PLAIN.test(text)) return null;
  const plain = text.trim().replace(/ +/g, " ");
  return plain === "" || SHELL_CALL.test(plain) ? null : plain;
}

/** The characters that a person cannot see, or that end a line. */
const INVISIBLE = /[\p{C}\u2028\u2029]/gu;

/** The characters that the text of a rule writes as `\u{a}`. A backslash in front of such a form is among them. */
const ESCAPED = /[\p{C}\u2028\u2029]|\\(?=u\{)/gu;

/** The lowest size in bytes that a title may have after the server has cut it. */
const CUT_TITLE_BYTES = 4093;

/** `true` if a pattern of this text stands for nothing else, and a person sees all of it. */
function isExact(text: string): boolean {
  const isPlain = text !== "" && text.trim() === text && !text.includes("*") && text.search(INVISIBLE) < 0;
  return isPlain && new TextEncoder().encode(text).length < CUT_TITLE_BYTES;
}

/**
 * Returns the rule; null if no pattern says exactly this. The server compares the words of a whole command, and the
 * title of any other request.
 */
export function ruleFor(
  approval: Pick<Approval, "tool_kind" | "title">,
  input: unknown,
): PermissionRule | null {
  const isCommand = approval.tool_kind === "execute" || hasCommand(input);
  const title = isCommand ? certainCommand(input) : approval.title;
  if (title === null || !isExact(title)) return null;
  return { tool: approval.tool_kind, title, verdict: "allow" };
}

/** A rule as the commands write it, in one line: a character that a person cannot see has the form `\u{a}`. */
export function ruleText(rule: PermissionRule): string {
  const text = rule.title === null ? rule.tool : `${rule.tool}:${rule.title}`;
  return text.replace(ESCAPED, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
