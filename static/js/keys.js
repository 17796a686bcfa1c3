// Keys in lists and on the page of a decision; components/keys.html says which. They press what is on the page already.
(() => {
  const OFF = "keys-off";
  const one = (selector, root = document) => root.querySelector(selector);
  const isOff = () => localStorage.getItem(OFF) !== null;
  const isTyping = (element) => Boolean(element.closest("input:not([type=checkbox], [type=radio]), textarea, select"));

  // An element that cannot have the focus stands for the field in it.
  const go = (place) => {
    const element = place?.matches("div") ? one("input, textarea", place) : place;
    if (!element) return false;
    element.focus();
    element.scrollIntoView({ block: "nearest" });
    return true;
  };

  // The row with the focus, or null before the first key.
  const findRow = () => document.activeElement?.closest("[data-keys-row]") ?? null;

  // While a list is exchanged its buttons are not ready: a held key waits for the next list.
  const isExchanged = () => one(".htmx-request, .htmx-swapping, .htmx-added, .htmx-settling") !== null;

  const move = (places) => {
    const rows = [...document.querySelectorAll("[data-keys] [data-keys-row]")];
    const at = rows.indexOf(findRow());
    const next = at < 0 ? 0 : Math.min(Math.max(at + places, 0), rows.length - 1);
    return go(rows[next] && one("[data-keys-link]", rows[next]));
  };

  const open = (key) => {
    const link = findRow() && one("[data-keys-link]", findRow());
    if (!link) return false;
    location.assign(`${link.href}#${{ a: "approve", d: "deny" }[key]}`);
    return true;
  };

  const press = (key) => {
    if (key === "j" || key === "k") return move(key === "j" ? 1 : -1);
    const row = findRow();
    const box = row && one("[data-keys-box]", row);
    if (key === "x" && box) {
      box.click();
      return true;
    }
    const target = one(`[data-keys-target="${key}"]`);
    if (target?.matches("a")) {
      target.click();
      return true;
    }
    return target ? go(target) : box && "ad".includes(key) && open(key);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || one("dialog[open]")) return;
    let isDone = false;
    if (event.altKey) {
      const button = findRow() && one(`[data-key="${event.key}"]`, findRow());
      if (button && !isExchanged()) button.form.requestSubmit(button);
      isDone = Boolean(button);
    } else if (event.key.length === 1 && !isOff() && !isTyping(event.target)) {
      isDone = press(event.key);
    }
    if (isDone) event.preventDefault();
  });

  const show = () => {
    document.querySelectorAll("[data-keys-switch]").forEach((button) => {
      button.setAttribute("aria-pressed", String(!isOff()));
      button.textContent = `Keys of one letter are ${isOff() ? "off" : "on"}`;
    });
  };

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-keys-switch]")) return;
    if (isOff()) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
    show();
  });

  show();
  // A list opens a request at one of its decisions.
  if (location.hash === "#approve" || location.hash === "#deny") go(one(`[data-keys-target="${location.hash[1]}"]`));
})();
