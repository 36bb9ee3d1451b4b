// JSON.stringify escapes a surrogate only where its other half is missing.
const half = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

/** JSON for a provider. None takes half of a surrogate pair, and the whole conversation with it would be refused from then on. */
export function formatRequestJson(value: object): string {
  const json = JSON.stringify(value)
  return json.includes('\\ud') ? json.replace(half, '$1\ufffd') : json
}
