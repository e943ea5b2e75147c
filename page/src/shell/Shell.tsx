import { Ellipsis, Monitor, Moon, Search, Sun, WifiOff } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { request } from "../api/client";
import { IconButton } from "../kit/Button";
import { Callout } from "../kit/ErrorState";
import { clockWithSeconds, duration } from "../kit/format";
import { Menu } from "../kit/Menu";
import { useNow } from "../kit/Time";
import { toast } from "../kit/Toast";
import { reconnect, useFeedState } from "../live/client";
import { ConversationList } from "../views/conversations/ConversationList";
import { forgetDrafts } from "../views/conversations/drafts";
import { type View, views } from "../views/registry";
import { useConnection, useNewerVersion } from "./connection";
import { KeyHelp } from "./KeyHelp";
import { useKey, useShellKeys } from "./keys";
import { Palette, type PaletteHandle } from "./Palette";
import { probeNow } from "./reach";
import { Brand } from "./SignIn";
import { placeOf, useScrollMemory } from "./scroll";
import css from "./shell.module.css";
import { chooseTheme, storedTheme } from "./theme";

const isCurrent = (view: View, location: string) =>
  view.href === "/" ? location === "/" : location === view.href || location.startsWith(`${view.href}/`);

export function Shell({ children }: { children: ReactNode }) {
  const [location] = useLocation();
  const palette = useRef<PaletteHandle>(null);
  const [helpOpen, setHelpOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const openPalette = useCallback(() => palette.current?.open(), []);
  useShellKeys(openPalette);
  useKey("?", () => setHelpOpen(true));
  useScrollMemory(main, placeOf(location, window.location.search));
  const inNavigation = views.filter((view) => view.icon);
  const listsConversations = location.startsWith("/conversations");
  return (
    <div className={css.shell} data-open={/^\/conversations\/./.test(location)}>
      <a className={css.skip} href="#main">
        Skip to the content
      </a>
      <nav className={css.rail} aria-label="Main">
        <Link href="/" className={css.home}>
          <Brand />
        </Link>
        <button type="button" className={css.find} onClick={openPalette}>
          <Search size={16} aria-hidden />
          <span>Find or do</span>
          <kbd>Ctrl K</kbd>
        </button>
        <ul className={css.views}>
          {inNavigation.map((view) => (
            <li key={view.href}>
              <ViewLink view={view} current={isCurrent(view, location)} />
            </li>
          ))}
        </ul>
        {listsConversations ? <ConversationList /> : <div className={css.space} />}
        <RailFoot />
      </nav>
      <main className={css.main} id="main" ref={main} tabIndex={-1}>
        <Strips />
        {children}
      </main>
      <nav className={css.bar} aria-label="Views">
        {inNavigation.slice(0, 4).map((view) => (
          <ViewLink key={view.href} view={view} current={isCurrent(view, location)} />
        ))}
        <button type="button" onClick={openPalette}>
          {inNavigation.length > 4 ? <Ellipsis size={20} aria-hidden /> : <Search size={20} aria-hidden />}
          <span>{inNavigation.length > 4 ? "More" : "Find"}</span>
        </button>
      </nav>
      <Palette ref={palette} />
      {helpOpen && <KeyHelp onClose={() => setHelpOpen(false)} />}
      <TabTitle location={location} />
    </div>
  );
}

const noCount = () => 0;

function ViewLink({ view, current }: { view: View; current: boolean }) {
  const count = (view.useCount ?? noCount)();
  const Icon = view.icon;
  return (
    <Link href={view.href} className={css.view} aria-current={current ? "page" : undefined}>
      {Icon && <Icon size={16} aria-hidden />}
      <span>{view.label}</span>
      {count > 0 && (
        <span className={css.count}>
          {count > 99 ? "99+" : count}
          <span className="visually-hidden"> to decide</span>
        </span>
      )}
    </Link>
  );
}

function TabTitle({ location }: { location: string }) {
  const counts = views.map((view) => (view.useCount ?? noCount)());
  const count = counts.reduce((sum, each) => sum + each, 0);
  const label = views.find((view) => isCurrent(view, location))?.label;
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}${label ? `${label} · ` : ""}Matins`;
  }, [count, label]);
  return null;
}

function RailFoot() {
  const feed = useFeedState();
  const { online } = useConnection();
  const [theme, setTheme] = useState(storedTheme);
  const choose = (next: typeof theme) => {
    chooseTheme(next);
    setTheme(next);
  };
  const word = !online
    ? "Lost"
    : feed.status === "live"
      ? "Live"
      : feed.status === "forbidden"
        ? "Not live"
        : "Connecting";
  const mark = (which: typeof theme) => (theme === which ? "chosen" : "");
  const item = (which: typeof theme, label: string, icon: ReactNode) => ({
    label,
    icon,
    ...(theme === which ? { note: mark(which) } : {}),
    onSelect: () => choose(which),
  });
  return (
    <div className={css.foot}>
      <span className={css.live} data-state={word.toLowerCase()} role="status">
        {word}
      </span>
      <span className="truncate">{window.location.hostname}</span>
      <Menu
        trigger={
          <IconButton label="Appearance and sign-out">
            <Ellipsis size={16} aria-hidden />
          </IconButton>
        }
        items={[
          item("system", "As the system", <Monitor size={16} aria-hidden />),
          item("light", "Light", <Sun size={16} aria-hidden />),
          item("dark", "Dark", <Moon size={16} aria-hidden />),
          null,
          { label: "Reference of the API", onSelect: () => window.location.assign("/api/v1/docs") },
          {
            label: "Sign out",
            onSelect: () => {
              request("DELETE", "/sign-in")
                .then(() => {
                  forgetDrafts();
                  window.location.assign("/");
                })
                .catch((error: Error) => toast(error.message));
            },
          },
        ]}
      />
    </div>
  );
}

function Strips() {
  const { online, heardAt } = useConnection();
  const newer = useNewerVersion();
  return (
    <>
      {!online && <OfflineStrip heardAt={heardAt} />}
      {newer && (
        <div className={css.strip} role="status">
          <Callout
            title="A newer version runs here."
            action={
              <button type="button" className={css.stripButton} onClick={() => window.location.reload()}>
                Reload
              </button>
            }
          >
            Drafts are kept.
          </Callout>
        </div>
      )}
    </>
  );
}

function OfflineStrip({ heardAt }: { heardAt: number | null }) {
  const now = useNow(1000);
  const tryNow = () => {
    reconnect();
    probeNow();
  };
  return (
    <div className={css.strip} role="status">
      <div className={css.offline}>
        <WifiOff size={16} aria-hidden />
        <span>
          <strong>{heardAt === null ? "No connection." : `Lost ${duration(now - heardAt)} ago.`}</strong>{" "}
          {heardAt !== null && `As of ${clockWithSeconds(heardAt)}. `}Drafts are kept.
        </span>
        <button type="button" className={css.stripButton} onClick={tryNow}>
          Try now
        </button>
      </div>
    </div>
  );
}
