import { useDraggable, useDroppable } from '@dnd-kit/core'
import { type MouseEvent, type RefObject, type TouchEvent, useLayoutEffect, useRef, useState } from 'react'

type Listeners = ReturnType<typeof useDraggable>['listeners']

/**
 * Lets a row be dragged and dropped on. Being ready for it costs every row that scrolls past a good part of its time, so a row
 * is only made ready when it is pressed, or while another one is on its way.
 */
export function useRowDrag(node: RefObject<HTMLElement | null>, id: string, isMovable: boolean, isDropTarget: boolean) {
  const [isHeld, setHeld] = useState(false)
  const listeners = useRef<Listeners>(undefined)
  const isReady = isDropTarget || (isHeld && isMovable)
  return {
    handlers: {
      // Comes before the two below, and is drawn before they come.
      onPointerDown: () => setHeld(true),
      onMouseDown: (event: MouseEvent) => listeners.current?.onMouseDown?.(event),
      onTouchStart: (event: TouchEvent) => listeners.current?.onTouchStart?.(event),
    },
    binding: isReady ? <DragBinding node={node} id={id} isMovable={isMovable} listeners={listeners} /> : null,
  }
}

type DragBindingProps = {
  node: RefObject<HTMLElement | null>
  id: string
  isMovable: boolean
  listeners: RefObject<Listeners>
}

function DragBinding({ node, id, isMovable, listeners }: DragBindingProps) {
  const draggable = useDraggable({ id, disabled: !isMovable })
  const droppable = useDroppable({ id })
  const { setNodeRef: setDragged } = draggable
  const { setNodeRef: setTarget } = droppable
  useLayoutEffect(() => {
    setDragged(node.current)
    setTarget(node.current)
    return () => {
      setDragged(null)
      setTarget(null)
    }
  }, [node, setDragged, setTarget])
  useLayoutEffect(() => {
    listeners.current = draggable.listeners
    return () => {
      listeners.current = undefined
    }
  }, [listeners, draggable.listeners])
  return null
}
