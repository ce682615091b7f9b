// The answers of all images as a table in a file.

export function saveTable(images, boxesFrom) {
  const rows = [["image", "answer", "probability", "score"], ...images.map((i) => rowOf(i, boxesFrom))];
  const text = rows.map((row) => row.map(quoted).join(",")).join("\r\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = "visualwords.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function rowOf({ file, answer, trouble }, boxesFrom) {
  if (!answer) return [file.name, trouble, "", ""];
  if (answer.boxes) return [file.name, `${boxesFrom(answer.boxes).length} found`, "", ""];
  const [best] = answer.classes;
  return [file.name, answer.label, best.probability ?? "", best.score];
}

// Spreadsheets run what begins like a formula; a quote before it keeps it text.
function quoted(value) {
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return `"${safe.replaceAll('"', '""')}"`;
}
