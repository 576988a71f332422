// Without this everything is there to be read. With it findings can be filtered, and cells tell what
// they are to a pointer, a finger or the arrow keys.
(function () {
  "use strict";
  var all = function (selector, within) {
    return Array.prototype.slice.call((within || document).querySelectorAll(selector));
  };

  var form = document.querySelector(".filter");
  if (form) {
    var input = form.querySelector("input");
    var shown = form.querySelector("output");
    var none = document.querySelector(".none");
    var findings = all("article[data-words]");
    var filter = function () {
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      var count = 0;
      findings.forEach(function (it) {
        var text = it.getAttribute("data-words");
        it.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
        count += it.hidden ? 0 : 1;
      });
      none.hidden = count > 0;
      // A heading whose findings are all filtered out goes too.
      all(".origin").forEach(function (heading) {
        var it = heading.nextElementSibling;
        while (it && it.matches("article[hidden]")) it = it.nextElementSibling;
        heading.hidden = !(it && it.matches("article"));
      });
      shown.textContent = words.length ? count + " of " + findings.length : "";
    };
    form.hidden = false;
    form.addEventListener("submit", function (event) { event.preventDefault(); });
    input.addEventListener("input", filter);
    addEventListener("keydown", function (event) {
      var typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        input.focus();
        input.select();
      } else if (event.key === "Escape" && input.value) {
        input.value = "";
        filter();
      }
    });
    // A link to a finding shows it, filtered out or not.
    addEventListener("hashchange", function () {
      var it = document.getElementById(location.hash.slice(1));
      var article = it && it.closest("article[data-words]");
      if (article && article.hidden) {
        input.value = "";
        filter();
        it.scrollIntoView();
      }
    });
    filter();
  }

  all("figure.lines").forEach(function (figure) {
    var map = figure.querySelector(".scroll");
    var readout = figure.querySelector(".readout");
    var cells = all(".cell", map);
    var current = null;
    var show = function (cell) {
      if (current) current.classList.remove("on");
      current = cell;
      if (cell) {
        cell.classList.add("on");
        readout.textContent = cell.querySelector("title").textContent;
      }
    };
    ["pointerover", "click"].forEach(function (kind) {
      map.addEventListener(kind, function (event) {
        var cell = event.target.closest(".cell");
        if (cell) show(cell);
      });
    });
    map.addEventListener("keydown", function (event) {
      var step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!step || !cells.length) return;
      var at = cells.indexOf(current);
      at = at < 0 ? (step > 0 ? 0 : cells.length - 1) : at + step;
      if (!cells[at]) return;
      event.preventDefault();
      show(cells[at]);
      cells[at].scrollIntoView({ block: "nearest", inline: "nearest" });
    });
  });
})();
