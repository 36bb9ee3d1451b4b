import { create } from 'zustand'
import type { ReviewComment } from './review-comment.ts'

/** Comments that were written and not sent, and the commit that was looked at last. They outlive the page. */
type Review = { comments: ReviewComment[]; summary: string; lastLook: string | null }

const empty: Review = { comments: [], summary: '', lastLook: null }
const keyOf = (taskId: string) => `matrix.review.${taskId}`

type Reviews = { reviews: Readonly<Record<string, Review>> }

const useReviews = create<Reviews>(() => ({ reviews: {} }))

export function useReviewDraft(taskId: string): Review {
  return useReviews(({ reviews }) => reviews[taskId]) ?? read(taskId)
}

export function changeReview(taskId: string, change: Partial<Review>): void {
  const next = { ...read(taskId), ...change }
  localStorage.setItem(keyOf(taskId), JSON.stringify(next))
  useReviews.setState(({ reviews }) => ({ reviews: { ...reviews, [taskId]: next } }))
}

const parsed = new Map<string, { text: string | null; review: Review }>()

/** The same object for the same stored text, as React asks of anything it is shown. */
function read(taskId: string): Review {
  const text = localStorage.getItem(keyOf(taskId))
  const known = parsed.get(taskId)
  if (known?.text === text) return known.review
  const review = parse(text)
  parsed.set(taskId, { text, review })
  return review
}

function parse(text: string | null): Review {
  try {
    const value = JSON.parse(text ?? '{}') as Partial<Review>
    return { ...empty, ...value, comments: Array.isArray(value.comments) ? value.comments : [] }
  } catch {
    return empty
  }
}
