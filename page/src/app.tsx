import { Suspense } from "react";
import { Link, Redirect, Route, Switch } from "wouter";
import { hasStatus } from "./api/problem";
import { useWhoami } from "./api/queries";
import { ErrorState } from "./kit/ErrorState";
import { EmptyState, Skeleton } from "./kit/layout";
import { Toasts } from "./kit/Toast";
import { useFeedHasAnswered } from "./live/client";
import { useLiveQueries } from "./shell/live-queries";
import { Shell } from "./shell/Shell";
import { SignIn, useSignedOut } from "./shell/SignIn";
import { views } from "./views/registry";

export function App() {
  const whoami = useWhoami();
  const signedOut = useSignedOut();
  useLiveQueries();
  const followed = useFeedHasAnswered();
  if (whoami.data === undefined) {
    if (hasStatus(whoami.error, 401)) return <SignIn whole />;
    if (whoami.error) {
      return (
        <div style={{ padding: 24, maxWidth: 600, margin: "0 auto" }}>
          <ErrorState error={whoami.error} onRetry={() => whoami.refetch()} />
        </div>
      );
    }
    return <Skeleton rows={6} />;
  }
  if (!followed) return <Skeleton rows={6} />;
  const first = views[0];
  return (
    <>
      <Shell>
        <Suspense fallback={<Skeleton rows={6} />}>
          <Switch>
            {views.map((view) => (
              <Route key={view.pattern} path={view.pattern} component={view.component} />
            ))}
            {first && first.href !== "/" && (
              <Route path="/">
                <Redirect to={first.href} replace />
              </Route>
            )}
            <Route>
              <div style={{ padding: 24 }}>
                <h1 className="visually-hidden">Not found</h1>
                <EmptyState
                  text="There is no page here."
                  action={<Link href={first?.href ?? "/"}>Go to the overview</Link>}
                />
              </div>
            </Route>
          </Switch>
        </Suspense>
      </Shell>
      {signedOut && <SignIn />}
      <Toasts />
    </>
  );
}
