"use strict";
// The station page: one event stream from the server feeds the titles, the counts and the meter.

const $ = (id) => document.getElementById(id);
const audio = $("audio");
let status = null;      // the last of /api/status
let chosen = null;      // path of the mount that plays or would
let wanted = false;     // has the listener asked for sound?
let startedAt = 0;      // when this connection was made, in seconds of performance.now()
let startTime = 0;      // audio.currentTime then
let retry = 0;

const setText = (id, text) => { const node = $(id); if (node.textContent !== text) node.textContent = text; };
const seconds = () => performance.now() / 1000;
const playing = () => wanted && !audio.paused && audio.readyState > 2;

function mount() {
  if (!status) return null;
  return status.mounts.find((m) => m.path === chosen) || status.mounts.find((m) => audio.canPlayType(m.content_type)) || status.mounts[0] || null;
}

function mountUrl(m) {
  const here = String(m.port) === (location.port || (location.protocol === "https:" ? "443" : "80"));
  return here ? m.path : `${m.tls ? "https:" : "http:"}//${location.hostname}:${m.port}${m.path}`;
}

// How far what is heard is behind what the server makes now: the burst at the start, plus what buffering added since.
function lag() {
  const m = mount();
  if (!m || !playing()) return 0;
  return Math.max(0, m.burst_seconds + (seconds() - startedAt) - (audio.currentTime - startTime));
}

// ---- Titles: shown when they are heard -------------------------------------------------------------------------------
let titleTimer = 0;
let shownSong = null;

function showTitle() {
  const m = mount();
  const song = m && m.on_air ? m.title || m.song || "" : "";
  const artist = m && m.on_air && m.title ? m.artist || "" : "";
  const key = song + "\n" + artist;
  if (key === shownSong) return;
  const show = () => {
    shownSong = key;
    setText("title", song || (m && m.on_air ? "On air" : "Nothing is on air"));
    setText("artist", artist);
    document.title = song ? `${artist ? artist + " – " : ""}${song} · ${status.station.name}` : status.station.name;
    if ("mediaSession" in navigator && window.MediaMetadata) {
      navigator.mediaSession.metadata = new MediaMetadata({ title: song || status.station.name, artist, album: status.station.name });
    }
  };
  clearTimeout(titleTimer);
  const wait = shownSong === null ? 0 : lag() * 1000;
  if (wait > 50) titleTimer = setTimeout(show, wait); else show();
}

function showStatus() {
  const onAir = status.mounts.some((m) => m.on_air);
  $("state").classList.toggle("on-air", onAir);
  setText("state-text", onAir ? "On air" : "Off air");
  setText("listeners", String(status.listeners));
  setText("listeners-word", status.listeners === 1 ? "listener" : "listeners");
  setText("station", status.station.name);
  setText("description", status.station.description);
  $("description").hidden = !status.station.description;
  setText("server", status.server);
  showTitle();
  showMounts();
}

function showMounts() {
  const list = $("mounts"), now = mount();
  const key = JSON.stringify([status.mounts.map((m) => [m.path, m.port, m.content_type, m.bitrate]), now && now.path]);
  if (list.dataset.key !== key) {
    list.dataset.key = key;
    list.replaceChildren(...status.mounts.map((m) => {
      const item = document.createElement("li");
      if (m === now && status.mounts.length > 1) item.setAttribute("aria-current", "true");
      const link = document.createElement("a");
      link.className = "path";
      link.href = mountUrl(m);
      link.textContent = m.path;
      item.append(link);
      if (status.mounts.length > 1) {
        const choose = document.createElement("button");
        choose.type = "button";
        choose.textContent = "Play this one";
        choose.addEventListener("click", () => { chosen = m.path; shownSong = null; showStatus(); start(); });
        item.append(choose);
      }
      const detail = document.createElement("span");
      detail.className = "detail";
      item.append(detail);
      return item;
    }));
  }
  status.mounts.forEach((m, i) => {
    const kind = m.content_type.replace(/^(audio|application|video)\//, "");
    const text = [kind, m.bitrate ? `${Math.round(m.bitrate / 1000)} kb/s` : "", `${m.listeners} listening`].filter(Boolean).join(" · ");
    const detail = list.children[i].querySelector(".detail");
    if (detail.textContent !== text) detail.textContent = text;
  });
}

// ---- The meter ------------------------------------------------------------------------------------------------------
const queue = [];                       // {at, peak, rms}: shown at `at`
const shown = [{ level: -60, hold: -60, held: 0 }, { level: -60, hold: -60, held: 0 }];
const decibels = (x) => (x > 0 ? Math.max(-60, 20 * Math.log10(x)) : -60);
const place = (db) => Math.min(1, Math.max(0, (db + 48) / 48));
let drawing = false;

function onLevels(levels) {
  const m = mount();
  const mine = m && levels[m.path];
  if (!mine) return;
  queue.push({ at: seconds() + lag(), peak: mine.peak, rms: mine.rms });
  if (queue.length > 600) queue.splice(0, queue.length - 600);
  if (!drawing) { drawing = true; requestAnimationFrame(draw); }
}

let lastDraw = 0;
function draw() {
  const now = seconds(), passed = Math.min(0.25, now - lastDraw);
  lastDraw = now;
  let current = null;
  while (queue.length && queue[0].at <= now) current = queue.shift();
  let alive = queue.length > 0;
  for (let i = 0; i < 2; ++i) {
    const bar = shown[i];
    const source = current && current.rms.length ? Math.min(i, current.rms.length - 1) : 0;
    const level = current && current.rms.length ? decibels(current.rms[source]) : -60;
    const peak = current && current.peak.length ? decibels(current.peak[source]) : -60;
    bar.level = Math.max(level, bar.level - 30 * passed);
    if (peak >= bar.hold) { bar.hold = peak; bar.held = now; } else if (now - bar.held > 1.2) bar.hold = Math.max(-60, bar.hold - 20 * passed);
    if (bar.level > -60 || bar.hold > -60) alive = true;
    $("bar-" + i).style.clipPath = `inset(0 ${(100 - 100 * place(bar.level)).toFixed(1)}% 0 0)`;
    $("hold-" + i).style.left = `calc(${(100 * place(bar.hold)).toFixed(1)}% - 2px)`;
    $("hold-" + i).style.opacity = bar.hold > -48 ? "0.7" : "0";
  }
  if (alive) requestAnimationFrame(draw); else drawing = false;
}

// ---- Playing ---------------------------------------------------------------------------------------------------------
function problem(text) { $("problem").hidden = !text; setText("problem", text || ""); }

function showButton() {
  const button = $("play");
  button.setAttribute("aria-pressed", String(wanted));
  button.setAttribute("aria-label", wanted ? "Stop" : "Listen");
  button.classList.toggle("waiting", wanted && !playing());
}

function start() {
  const m = mount();
  if (!m) return;
  wanted = true;
  problem("");
  audio.src = mountUrl(m) + "?t=" + Date.now();   // never a cached piece of the past
  startedAt = seconds();
  startTime = 0;
  audio.play().catch((error) => {
    if (error.name === "NotAllowedError") { wanted = false; problem("The browser wants a click before it plays sound."); }
    showButton();
  });
  showButton();
}

function stop() {
  wanted = false;
  clearTimeout(retry);
  audio.pause();
  audio.removeAttribute("src");
  audio.load();                                    // closes the connection
  queue.length = 0;
  showButton();
  showTitle();
}

function lost() {
  if (!wanted) return;
  clearTimeout(retry);
  retry = setTimeout(start, 2000);
  showButton();
}

$("play").addEventListener("click", () => (wanted ? stop() : start()));
$("volume").addEventListener("input", () => { audio.volume = Number($("volume").value); localStorage.setItem("volume", $("volume").value); });
for (const name of ["playing", "waiting", "pause", "stalled"]) audio.addEventListener(name, showButton);
audio.addEventListener("ended", lost);
audio.addEventListener("error", () => { if (wanted && audio.hasAttribute("src")) { problem("The stream is not there; trying again."); lost(); } });
audio.addEventListener("playing", () => problem(""));
try {
  const saved = localStorage.getItem("volume");
  if (saved) $("volume").value = saved;
} catch { /* private mode */ }
audio.volume = Number($("volume").value);
if ("mediaSession" in navigator) {
  navigator.mediaSession.setActionHandler("play", start);
  navigator.mediaSession.setActionHandler("pause", stop);
  navigator.mediaSession.setActionHandler("stop", stop);
}

const events = new EventSource("/api/events");
let autoplay = location.hash === "#play";          // a link may ask to begin at once
events.addEventListener("status", (event) => {
  status = JSON.parse(event.data);
  showStatus();
  if (autoplay && status.mounts.length) { autoplay = false; start(); }
});
events.addEventListener("levels", (event) => onLevels(JSON.parse(event.data)));
events.addEventListener("error", () => { $("state").classList.remove("on-air"); setText("state-text", "Connecting"); });
