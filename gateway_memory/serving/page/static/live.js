// Renews the part of a page that names a stream, whenever the stream tells that something is new.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const part = document.querySelector("[data-news]");
  if (!part) return;
  let source;
  const listen = () => {
    source = new EventSource(part.dataset.news);
    source.addEventListener("news", () => part.dispatchEvent(new Event("news")));
    source.addEventListener("open", () => part.dispatchEvent(new Event("news")));
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, 3000);
    });
  };
  listen();
  window.addEventListener("pagehide", () => source.close());
});
document.addEventListener("input", (event) => {
  const shown = event.target.type === "range" && document.querySelector(`output[for="${event.target.id}"]`);
  if (shown) shown.value = Number(event.target.value).toFixed(2);
});
