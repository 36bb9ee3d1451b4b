import * as z from 'zod'
import { ProjectId } from '../project.ts'
import { route } from '../route.ts'
import { Attention } from '../task-view.ts'
import { inProject, reference, text } from './fields.ts'

export const attentionRoutes = {
  listAttention: route('GET /api/attention', 'attention', 'Everything that waits for a person', {
    query: z.object({ projectId: ProjectId.optional() }),
    response: z.array(Attention),
  }),
  answerQuestion: route('POST /api/projects/:projectId/questions/:questionId', 'attention', 'Answers an agent', {
    params: inProject.extend({ questionId: reference(300) }),
    body: z.object({ answer: text.min(1) }),
  }),
  answerApproval: route(
    'POST /api/projects/:projectId/approvals/:approvalId',
    'attention',
    'Lets a call happen, or not',
    {
      params: inProject.extend({ approvalId: reference(300) }),
      body: z.discriminatedUnion('decision', [
        z.object({ decision: z.literal('deny'), reason: z.string().max(2000).optional() }),
        z.object({
          decision: z.literal('allow'),
          scope: z.enum(['once', 'task', 'always']),
          /** The digest of the arguments that were shown. The approval holds for these at every scope. */
          inputDigest: z.string(),
          /** For `task` and `always`: the approval holds for any arguments. Refused where `mayAllowAny` is absent. */
          anyArguments: z.boolean().optional(),
        }),
      ]),
    },
  ),
  dismissAttention: route(
    'DELETE /api/attention/:attentionId',
    'attention',
    'Puts a failure or a review aside as seen',
    {
      params: z.object({ attentionId: reference(300) }),
    },
  ),
} as const
