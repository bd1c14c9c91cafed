// What the page does without a reload: look for news, show previews in place, and keys. Each works without it, too.
"use strict";

const LIVE = { "X-Live": "1" };
let version = null;

async function page(url, headers) {
  const response = await fetch(url, { headers, credentials: "same-origin", redirect: "manual" });
  if (response.status !== 200) return null;
  version = response.headers.get("X-Version");
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

function swap(selector, fresh) {
  const old = document.querySelector(selector);
  const made = fresh && fresh.querySelector(selector);
  if (!old || !made) return;
  const focused = old.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  old.replaceWith(document.adoptNode(made));
  if (focused) {
    const again = Array.from(document.querySelectorAll("[data-row]")).find((row) => row.getAttribute("href") === focused);
    if (again) again.focus({ preventScroll: true });
  }
}

async function look() {
  if (document.hidden || !document.querySelector("[data-live-part]")) return;
  try {
    const fresh = await page(location.href, version ? { ...LIVE, "X-Seen": version } : LIVE);
    if (fresh) swap("[data-live-part]", fresh);
  } catch { /* the page is away: the next look will tell */ }
}

async function preview(url) {
  const fresh = await page(url, {});
  if (!fresh) return location.assign(url);
  swap("[data-preview]", fresh);
  history.replaceState(null, "", url);
  document.querySelector("[data-preview]").scrollIntoView({ block: "nearest" });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='?choose=']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  preview(link.href);
});

document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-previewing]");
  if (form) preview("?" + new URLSearchParams(new FormData(form)));
});

document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (event.target.method === "post" && button) setTimeout(() => { button.disabled = true; });
});

const keysOn = document.getElementById("keys-on");
if (keysOn) {
  keysOn.checked = localStorage.getItem("keys") !== "off";
  keysOn.addEventListener("change", () => localStorage.setItem("keys", keysOn.checked ? "on" : "off"));
}

function move(step) {
  const rows = Array.from(document.querySelectorAll("[data-row]"));
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement);
  rows[Math.min(Math.max(at + step, 0), rows.length - 1)].focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !keysOn || !keysOn.checked) return;
  if (event.target.matches("input, textarea, select, [contenteditable]")) return;
  if (event.key === "j") return move(1);
  if (event.key === "k") return move(-1);
  if (!/^[a-z1-9]$/.test(event.key)) return;
  const wanted = document.querySelector(`[data-key="${event.key}"]`);
  if (!wanted) return;
  event.preventDefault();
  if (wanted.matches("textarea")) wanted.focus();
  else wanted.click();
});

const first = document.querySelector("[data-row]");
if (first && document.activeElement === document.body) first.focus({ preventScroll: true });

// A part of a page whose news are at another address: how far the past mails of a draft are.
async function follow() {
  const part = document.querySelector("[data-live-from]");
  if (!part || document.hidden) return;
  try {
    swap(`#${part.id}`, await page(part.dataset.liveFrom, LIVE));
    const fresh = document.getElementById(part.id);
    if (fresh && fresh.hasAttribute("data-live-part")) {
      fresh.removeAttribute("data-live-part");
      fresh.dataset.liveFrom = part.dataset.liveFrom;
    }
  } catch { /* the page is away: the next look will tell */ }
}

setInterval(follow, 2000);
setInterval(look, 1000 * Number(document.body.dataset.live || 5));
