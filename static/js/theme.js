// Runs before the first paint, so that a dark page never flashes white. The choice lives in a cookie, which the server
// reads too; without a choice the system decides.
(() => {
  const root = document.documentElement;
  root.classList.add("has-js");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => document.cookie.match(/(?:^|; )theme=(dark|light)(?:;|$)/)?.[1];
  const show = () => {
    root.dataset.bsTheme = chosen() ?? (dark.matches ? "dark" : "light");
  };
  show();
  dark.addEventListener("change", show);
  // Paper is light.
  window.addEventListener("beforeprint", () => {
    root.dataset.bsTheme = "light";
  });
  window.addEventListener("afterprint", show);
})();
