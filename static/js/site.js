// What the pages do beyond links and forms. Everything here saves a reload or a click; nothing works only here.
(() => {
  const one = (selector) => document.querySelector(selector);

  // ---- toasts and announcements ----

  const FADE_AFTER_MS = 8000;

  const expire = (toast) => {
    // Good news goes by itself; a warning or an error waits to be read.
    if (["success", "info", "debug"].includes(toast.dataset.kind)) {
      setTimeout(() => toast.remove(), FADE_AFTER_MS);
    }
  };

  const showToast = (kind, text) => {
    const template = one("#toast-template");
    if (!template) return;
    const toast = template.content.querySelector("[data-toast]").cloneNode(true);
    toast.dataset.kind = kind;
    toast.querySelector("[data-toast-text]").textContent = text;
    one("#toasts").append(toast);
    expire(toast);
  };

  document.querySelectorAll("[data-toast]").forEach(expire);

  // An answer may carry HX-Trigger: {"toast": {"kind": "success", "text": "Saved"}}.
  document.addEventListener("toast", (event) => showToast(event.detail.kind, event.detail.text));

  // A live region has to stay in the page to be read aloud, so counts that come and go are copied into one.
  const announce = (element) => {
    const text = element.querySelector("[data-announce]")?.textContent.trim().replace(/\s+/g, " ");
    if (text) one("#announcer").textContent = text;
  };

  // ---- menus ----

  // In a narrow window the menu of the settings would fill the first screen; without this it stays open there, too.
  const narrow = matchMedia("(width < 48rem)");
  const fold = () => document.querySelectorAll("[data-folds-narrow]").forEach((menu) => { menu.open = !narrow.matches; });
  narrow.addEventListener("change", fold);
  fold();

  // ---- the dialog ----

  const dialog = one("#dialog");

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === dialog && !dialog.open) dialog.showModal();
    else announce(event.detail.target);
  });

  // ---- clicks ----

  const copy = async (button) => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      showToast("success", "Copied");
    } catch {
      // Browsers offer the clipboard on secure addresses only.
      showToast("warning", "The browser does not allow copying here. Select the text instead.");
    }
  };

  const switchTheme = () => {
    const root = document.documentElement;
    const theme = root.dataset.bsTheme === "dark" ? "light" : "dark";
    root.dataset.bsTheme = theme;
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `theme=${theme}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
  };

  document.addEventListener("click", (event) => {
    const at = (selector) => event.target.closest(selector);
    if (at("[data-copy]")) copy(at("[data-copy]"));
    if (at("[data-theme-switch]")) switchTheme();
    if (at("[data-close-toast]")) at("[data-toast]").remove();
    if (at("[data-close-dialog]") && dialog?.open) {
      event.preventDefault();
      dialog.close();
    }
    document.querySelectorAll("[data-menu][open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    document.querySelectorAll("[data-menu][open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  });

  // ---- leaving a form with changes (form data-guard) ----

  // A form that is shown again with what was typed is marked "changed" from the start; drafts.js takes the mark away from what it
  // has kept.
  document.addEventListener("input", (event) => {
    if (event.target.form?.matches("[data-guard]")) event.target.form.dataset.guard = "changed";
  });
  document.addEventListener("submit", () => {
    document.querySelectorAll("[data-guard]").forEach((form) => {
      form.dataset.guard = "";
    });
  });
  window.addEventListener("beforeunload", (event) => {
    if (one('[data-guard="changed"], [data-guard="keeping"]')) event.preventDefault();
  });

  // ---- picker: a ticked result becomes a chip, an unticked chip goes ----

  document.addEventListener("change", (event) => {
    const box = event.target;
    const picker = box.closest("[data-picker]");
    if (!picker || box.type !== "checkbox") return;
    const chosen = picker.querySelector("[data-picker-chosen]");
    const item = box.closest("li");
    if (box.checked && !chosen.contains(item)) {
      const known = [...chosen.querySelectorAll("input")].some((other) => other.value === box.value);
      if (known) item.remove();
      else chosen.append(item);
    } else if (!box.checked && chosen.contains(item)) {
      item.remove();
    } else {
      return;
    }
    picker.querySelector("input[type=search]")?.focus();
  });

  // ---- htmx ----

  const REFUSALS = {
    403: "You may not do this.",
    404: "It is no longer there.",
    409: "Somebody else changed this in the meantime. Reload the page.",
    412: "Somebody else changed this in the meantime. Reload the page.",
    429: "Too many requests. Wait a moment.",
  };

  document.addEventListener("htmx:responseError", (event) => {
    const status = event.detail.xhr.status;
    showToast("error", REFUSALS[status] ?? `That did not work (${status}). Nothing was changed.`);
  });

  document.addEventListener("htmx:sendError", () => {
    showToast("error", "The server does not answer. Check the connection and try again.");
  });

  // ---- tooltips of icon buttons, which the keyboard reaches too ----

  // htmx sends this for the page at the start and for every fragment later.
  document.addEventListener("htmx:load", (event) => {
    event.target.querySelectorAll?.("[data-tooltip]").forEach((element) => {
      // Inside the landmark of its button, where a screen reader expects it.
      const container = element.closest("main, header") ?? document.body;
      window.tabler?.Tooltip.getOrCreateInstance(element, { container });
    });
  });

  // A tooltip whose button was swapped away would stay for ever.
  document.addEventListener("htmx:beforeCleanupElement", (event) => {
    window.tabler?.Tooltip.getInstance(event.target)?.dispose();
  });
})();
