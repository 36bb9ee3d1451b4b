import { type RefObject, useEffect, useRef, useState } from 'react'

const near = 32
const intentMs = 1000
const intents = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const

/**
 * Keeps a growing list at its end for as long as nobody has scrolled away from it. Only a person's own wheel, finger or key lets
 * go: rows that turn out higher than expected do not. Answers whether it is at the end.
 */
export function useStickToEnd(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  startsAtEnd: boolean,
): { isAtEnd: boolean; goToEnd: () => void } {
  const isStuck = useRef(startsAtEnd)
  const [isAtEnd, setAtEnd] = useState(startsAtEnd)

  const goToEnd = () => {
    isStuck.current = true
    setAtEnd(true)
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight })
  }

  useEffect(() => {
    const box = scroller.current
    const inner = content.current
    if (!box || !inner) return
    let lastIntent = Number.NEGATIVE_INFINITY

    const onIntent = () => {
      lastIntent = performance.now()
    }
    let frame = 0
    // Once a frame: asking for heights in between would have the browser lay everything out again.
    const onScroll = () => {
      frame ||= requestAnimationFrame(look)
    }
    const look = () => {
      frame = 0
      const distance = box.scrollHeight - box.scrollTop - box.clientHeight
      if (distance <= near) isStuck.current = true
      else if (performance.now() - lastIntent < intentMs) isStuck.current = false
      setAtEnd(isStuck.current)
    }
    const observer = new ResizeObserver(() => {
      if (isStuck.current) box.scrollTop = box.scrollHeight
    })

    for (const type of intents) box.addEventListener(type, onIntent, { passive: true })
    box.addEventListener('scroll', onScroll, { passive: true })
    observer.observe(inner)
    observer.observe(box)
    return () => {
      for (const type of intents) box.removeEventListener(type, onIntent)
      box.removeEventListener('scroll', onScroll)
      observer.disconnect()
      cancelAnimationFrame(frame)
    }
  }, [scroller, content])

  return { isAtEnd, goToEnd }
}
