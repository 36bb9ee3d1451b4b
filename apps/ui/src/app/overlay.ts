import { create } from 'zustand'

type Overlay =
  | { kind: 'none' }
  | { kind: 'palette' }
  | { kind: 'keys' }
  | { kind: 'add-project' }
  | { kind: 'new-task'; projectId: string; parentId: string | undefined }

type OverlayState = { shown: Overlay; show(overlay: Overlay): void; close(): void }

/** The one thing that stands in front of the views. */
export const useOverlay = create<OverlayState>((set) => ({
  shown: { kind: 'none' },
  show: (shown) => set({ shown }),
  close: () => set({ shown: { kind: 'none' } }),
}))
