#include "builtins/interactive_page.h"

#include <fmt/format.h>

#include <cmath>

#include "builtins/encodings.h"

namespace castile::builtins {

namespace {

std::string input(const PageVariable& v) {
    const std::string name = markup_escape(v.name), value = markup_escape(v.value);
    if (v.type == "unit") return fmt::format("<button type='button' name='{}'>{}</button>", name, name);
    if (v.type == "bool") return fmt::format("<input type='checkbox' id='{0}' name='{0}'{1}>", name, v.value == "true" ? " checked" : "");
    if (v.type == "int") return fmt::format("<input type='number' id='{0}' name='{0}' step='1' value='{1}'>", name, value);
    if (v.type == "string") return fmt::format("<input type='text' id='{0}' name='{0}' value='{1}'>", name, value);
    const std::string unit = v.unit.empty() ? "" : " " + markup_escape(v.unit);
    if (!std::isfinite(v.min) || !std::isfinite(v.max))
        return fmt::format("<span><input type='number' id='{0}' name='{0}' step='{1:g}' value='{2}'>{3}</span>", name, v.step, value, unit);
    return fmt::format("<span><input type='range' id='{0}' name='{0}' min='{1:g}' max='{2:g}' step='{3:g}' value='{4}'>"
                       " <output>{4}</output>{5}</span>", name, v.min, v.max, v.step, value, unit);
}

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang='en'>
<head>
<meta charset='utf-8'>
<meta name='viewport' content='width=device-width'>
<title>Interactive values</title>
<style>
body { font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 42rem; padding: 0 1rem; color-scheme: light dark; }
form { display: grid; grid-template-columns: max-content 1fr; gap: .7rem 1.2rem; align-items: center; }
input[type=range] { width: 70%; vertical-align: middle; }
.failed { outline: 2px solid #c33; }
</style>
</head>
<body>
<h1>Interactive values</h1>
<form>
)";

// Sends what was changed, and nothing else: two people may have the page open.
constexpr std::string_view tail = R"(</form>
<script>
const form = document.querySelector('form');
async function send(element, value) {
  const body = new URLSearchParams([[element.name, value]]);
  let ok = false;
  try { ok = (await fetch(location.pathname, { method: 'POST', body })).ok; } catch (error) { console.log(error); }
  element.classList.toggle('failed', !ok);
}
form.addEventListener('input', event => {
  const shown = event.target.parentNode.querySelector('output');
  if (shown) shown.value = event.target.value;
});
form.addEventListener('change', event => {
  const e = event.target;
  send(e, e.type == 'checkbox' ? String(e.checked) : e.value);
});
form.addEventListener('click', event => { if (event.target.type == 'button') send(event.target, ''); });
form.addEventListener('submit', event => event.preventDefault());
</script>
</body>
</html>
)";

}  // namespace

std::string interactive_page(const std::vector<PageVariable>& variables) {
    std::string page(head);
    for (const PageVariable& v : variables) {
        const std::string label = v.description.empty() ? v.name : v.description + " (" + v.name + ")";
        page += fmt::format("<label for='{}'>{}</label>{}\n", markup_escape(v.name), markup_escape(label), input(v));
    }
    if (variables.empty()) page += "<p>There are none.</p>\n";
    return page + std::string(tail);
}

}  // namespace castile::builtins
