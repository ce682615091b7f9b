// Shows /openapi.json to people.

const $ = (id) => document.getElementById(id);
const api = await (await fetch("/openapi.json")).json();

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function row(name, text) {
  return element("tr", {},
    element("th", { scope: "row" }, element("code", { textContent: name })),
    element("td", { textContent: text }));
}

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.type === "array") return `list of ${typeOf(schema.items)}`;
  return schema.enum ? schema.enum.join(" or ") : schema.type;
}

function table(title, rows) {
  return rows.length
    ? [element("h3", { textContent: title }), element("table", {}, element("tbody", {}, ...rows))]
    : [];
}

function operation(path, method, { summary, parameters = [], requestBody, responses }) {
  return element("article", {},
    element("h2", {},
      element("span", { className: "method", textContent: method.toUpperCase() }),
      element("code", { textContent: path })),
    element("p", { textContent: summary }),
    ...(requestBody ? [element("p", { className: "soft", textContent: `Send ${requestBody.description}.` })] : []),
    ...table("Parameters", parameters.map((p) => row(p.name, p.description))),
    ...table("Answers", Object.entries(responses).map(([status, { description, content }]) => {
      const [[kind, { schema }]] = Object.entries(content);
      const what = schema.$ref ? typeOf(schema) : kind;
      return row(status, `${description} → ${what}`);
    })));
}

function component([name, schema]) {
  const rows = Object.entries(schema.properties).map(([key, value]) =>
    row(key, [typeOf(value), value.description].filter(Boolean).join(": ")));
  return element("article", {}, element("h2", { textContent: name }), ...table("Members", rows));
}

$("description").textContent = api.info.description;
$("example").textContent = `curl --data-binary @photo.jpg ${location.origin}/api/predict`;
$("operations").append(
  ...Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, what]) => operation(path, method, what))),
  ...Object.entries(api.components.schemas).map(component));
