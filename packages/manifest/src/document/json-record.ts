export type JsonRecord = Record<string, unknown>

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value of a key that the document itself has; what an object inherits is not part of it. */
export function own(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

export function ownText(value: unknown, key: string): string | undefined {
  const text = own(value, key)
  return typeof text === 'string' ? text : undefined
}

/** Files of other programs write numbers and switches where a text is meant. */
export function scalarText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined
}
