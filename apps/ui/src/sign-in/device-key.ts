/** What makes this browser a device: a key that can be used here and copied nowhere. */
export type DeviceKey = { deviceId: string; name: string; privateKey: CryptoKey }

const database = 'matrix'
const store = 'device'
const place = 'this'

export async function readDeviceKey(): Promise<DeviceKey | undefined> {
  return inStore('readonly', (keys) => keys.get(place))
}

export async function keepDeviceKey(key: DeviceKey): Promise<void> {
  await inStore('readwrite', (keys) => keys.put(key, place))
}

export async function forgetDeviceKey(): Promise<void> {
  await inStore('readwrite', (keys) => keys.delete(place))
}

async function inStore<Result>(
  mode: IDBTransactionMode,
  ask: (keys: IDBObjectStore) => IDBRequest<Result>,
): Promise<Result> {
  const opening = indexedDB.open(database, 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore(store)
  const opened = await answerOf(opening)
  try {
    return await answerOf(ask(opened.transaction(store, mode).objectStore(store)))
  } finally {
    opened.close()
  }
}

function answerOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
