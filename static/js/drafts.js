// Nothing that somebody types is lost: forms with a ticket ([data-draft], components/draft_field.html) are kept on the server
// during typing, and an answer that was asked for before the last change is asked for again instead of replacing it.
(() => {
  const WAIT_MS = 500;
  // Browsers let a page that is left send no more than 64 KiB.
  const MOST_ON_LEAVING = 60_000;

  const one = (selector) => document.querySelector(selector);
  const ticketOf = (form) => form?.querySelector?.("[data-draft]");
  const keptForms = () => [...document.querySelectorAll("form")].filter(ticketOf);

  // ---- what the page says of it ----

  const say = (text, { isKept, isSignedIn }) => {
    const line = one("[data-draft-line]");
    if (!line) return;
    line.querySelector("[data-draft-text]").textContent = text;
    line.querySelector("[data-draft-discard]").hidden = !isKept || !isSignedIn;
    const way = line.querySelector("[data-draft-sign-in]");
    way.hidden = isSignedIn;
    way.href = `/login?next=${encodeURIComponent(location.pathname + location.search)}`;
    // The first of these is read aloud, and what needs to be done; not that it is so after every word.
    const isNews = line.dataset.said !== `${isKept} ${isSignedIn}`;
    line.dataset.said = `${isKept} ${isSignedIn}`;
    if (isNews) one("#announcer").textContent = text;
  };

  const SIGNED_OUT = "You are not signed in any more. What you type here is kept; sign in to save it.";

  // Back and a reload come to the draft, with the address of the page that shows it.
  const showAddress = (ticket) => history.replaceState(history.state, "", ticket.dataset.address);

  const noteKept = (ticket, kept) => {
    const address = new URL(ticket.dataset.address, location);
    address.searchParams.set("draft", kept.draft);
    ticket.dataset.address = address.pathname + address.search;
    showAddress(ticket);
    const discard = one("[data-draft-line] [name=draft]");
    if (discard) discard.value = kept.draft;
    const text = kept.is_signed_in ? `Kept as a draft at ${kept.at}. It is not saved yet.` : SIGNED_OUT;
    say(text, { isKept: true, isSignedIn: kept.is_signed_in });
  };

  // A form that the server drew anew is kept already.
  document.addEventListener("draft-kept", (event) => {
    const ticket = one("[data-draft]");
    if (ticket) noteKept(ticket, event.detail);
  });

  // ---- keeping ----

  const timers = new WeakMap();
  const running = new WeakMap();

  // data-guard is "changed" while something is not kept, "keeping" while it is on its way.
  const keep = (form, { isLeaving = false } = {}) => {
    clearTimeout(timers.get(form));
    const ticket = ticketOf(form);
    if (!ticket || !form.isConnected || form.dataset.guard !== "changed") return running.get(form)?.done;
    form.dataset.guard = "keeping";
    running.get(form)?.abort.abort();
    const abort = new AbortController();
    const body = new URLSearchParams(new FormData(form));
    const keepalive = isLeaving && body.toString().length < MOST_ON_LEAVING;
    const done = fetch(ticket.dataset.draft, { method: "POST", body, keepalive, signal: abort.signal })
      .then(async (answer) => {
        if (!answer.ok) throw new Error(answer.statusText);
        noteKept(ticket, await answer.json());
        if (form.dataset.guard === "keeping") form.dataset.guard = "";
      })
      .catch(() => {
        if (abort.signal.aborted) return;
        form.dataset.guard = "changed";
        say("What you typed could not be kept as a draft.", { isKept: false, isSignedIn: true });
      });
    running.set(form, { abort, done });
    return done;
  };

  document.addEventListener("input", (event) => {
    const form = event.target.form;
    const ticket = ticketOf(form);
    if (!ticket) return;
    showAddress(ticket);
    clearTimeout(timers.get(form));
    timers.set(form, setTimeout(keep, WAIT_MS, form));
  });

  const keepAll = () => Promise.all(keptForms().map((form) => keep(form, { isLeaving: true })));

  const drop = (form) => {
    clearTimeout(timers.get(form));
    running.get(form)?.abort.abort();
  };

  // Before site.js takes the marks away: what is posted the server keeps, what is discarded nobody, the rest is kept here.
  document.addEventListener(
    "submit",
    (event) => {
      const isDiscarded = event.target.matches("[data-draft-line]");
      keptForms().forEach((form) => {
        if (isDiscarded || form === event.target) drop(form);
        else keep(form, { isLeaving: true });
      });
      if (!isDiscarded && ticketOf(event.target)) showAddress(ticketOf(event.target));
    },
    { capture: true },
  );

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") keepAll();
  });
  window.addEventListener("beforeunload", keepAll);

  // A page that the browser kept may be older than its draft.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted && keptForms().length) location.reload();
  });

  // ---- a session that ended ----

  document.addEventListener("htmx:beforeSwap", async (event) => {
    // It answers a fragment with the sign-in page: go there, and come back here.
    const answer = event.detail.xhr.responseURL;
    if (!answer || new URL(answer).pathname !== "/login" || location.pathname === "/login") return;
    event.detail.shouldSwap = false;
    await keepAll();
    // What was posted is kept, and the answer names its address.
    const next = new URL(answer).searchParams.get("next") ?? "";
    const isDraft = new URL(next, location).searchParams.has("draft");
    const back = isDraft ? next : location.pathname + location.search;
    location.assign(`/login?next=${encodeURIComponent(back)}`);
  });

  // ---- answers that arrive while somebody types ----

  const readFields = (element) =>
    JSON.stringify([...element.querySelectorAll("input, select, textarea")].map((x) => [x.name, x.value, x.checked]));

  const readForm = (element) => {
    const form = element.closest("form");
    return form ? new URLSearchParams(new FormData(form)).toString() : "";
  };

  const askedWith = new WeakMap();

  document.addEventListener("htmx:beforeRequest", (event) => {
    const { xhr, target, requestConfig } = event.detail;
    if (requestConfig.verb === "post") askedWith.set(xhr, { fields: readFields(target), form: readForm(target) });
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr, target, requestConfig, shouldSwap } = event.detail;
    const asked = askedWith.get(xhr);
    if (!shouldSwap || !asked) return;
    // The element of the event is the one whose content is replaced, not the one that asked.
    const { elt, triggeringEvent } = requestConfig;
    // What is beside the fields is about all of them, and its answer may bring some with it.
    const isOlder = asked.fields !== readFields(target) || (elt === target && asked.form !== readForm(target));
    const cause = elt.type === "search" ? "search" : triggeringEvent?.type;
    if (!isOlder || !cause) return;
    event.detail.shouldSwap = false;
    window.htmx.trigger(elt, cause);
  });
})();
