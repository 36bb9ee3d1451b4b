// The same tool loop in other people's hands: each as its own documentation shows it, with streaming, one tool and a
// limit of turns. Their packages are installed beside the built file, so nothing here is part of the workspace.
import { contest } from '../src/provider-loop/contest.ts'

const system = 'You are an agent in a benchmark.'
const model = 'claude-sonnet-4-6'

/** Fails loudly when a peer stops early: a turn that was not taken would count as a quick one. */
function counted(turns) {
  let calls = 0
  return {
    echo: ({ text }) => {
      calls += 1
      return `echo ${text}`
    },
    check() {
      if (calls < turns - 1) throw new Error(`only ${calls} of ${turns} turns were taken`)
    },
  }
}

async function pi() {
  const { agentLoop } = await import('@mariozechner/pi-agent-core')
  const { Type } = await import('@mariozechner/pi-ai')
  return async (url, turns) => {
    const { echo, check } = counted(turns)
    let taken = 0
    const tool = {
      name: 'echo',
      label: 'echo',
      description: 'Echoes.',
      parameters: Type.Object({ text: Type.String() }),
      execute: async (_, input) => ({ content: [{ type: 'text', text: echo(input) }], details: {} }),
    }
    const stream = agentLoop(
      [{ role: 'user', content: 'Go', timestamp: Date.now() }],
      { systemPrompt: system, messages: [], tools: [tool] },
      {
        apiKey: 'x',
        model: {
          id: model,
          name: model,
          api: 'anthropic-messages',
          provider: 'anthropic',
          baseUrl: url,
          reasoning: false,
          input: ['text'],
          cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
          contextWindow: 200_000,
          maxTokens: 1000,
        },
        convertToLlm: (messages) => messages,
        shouldStopAfterTurn: () => ++taken >= turns,
      },
    )
    for await (const _ of stream);
    check()
  }
}

async function vercelAi() {
  const { streamText, stepCountIs, tool } = await import('ai')
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  const { z } = await import('zod')
  return async (url, turns) => {
    const { echo, check } = counted(turns)
    const anthropic = createAnthropic({ apiKey: 'x', baseURL: `${url}/v1` })
    const result = streamText({
      model: anthropic(model),
      system,
      prompt: 'Go',
      maxOutputTokens: 1000,
      stopWhen: stepCountIs(turns),
      tools: { echo: tool({ description: 'Echoes.', inputSchema: z.object({ text: z.string() }), execute: echo }) },
    })
    for await (const _ of result.fullStream);
    check()
  }
}

async function langgraph() {
  const { createReactAgent } = await import('@langchain/langgraph/prebuilt')
  const { ChatAnthropic } = await import('@langchain/anthropic')
  const { tool } = await import('@langchain/core/tools')
  const { z } = await import('zod')
  return async (url, turns) => {
    const { echo, check } = counted(turns)
    const llm = new ChatAnthropic({ model, apiKey: 'x', anthropicApiUrl: url, maxTokens: 1000, streaming: true })
    const echoTool = tool(echo, { name: 'echo', description: 'Echoes.', schema: z.object({ text: z.string() }) })
    const agent = createReactAgent({ llm, tools: [echoTool], prompt: system })
    const input = { messages: [{ role: 'user', content: 'Go' }] }
    try {
      const stream = await agent.stream(input, { streamMode: 'messages', recursionLimit: turns * 2 })
      for await (const _ of stream);
    } catch (error) {
      if (error.name !== 'GraphRecursionError') throw error
    }
    check()
  }
}

async function openaiAgents() {
  const { Agent, MaxTurnsExceededError, OpenAIChatCompletionsModel, run, setTracingDisabled, tool } = await import(
    '@openai/agents'
  )
  const { default: OpenAI } = await import('openai')
  const { z } = await import('zod')
  setTracingDisabled(true)
  let client
  return async (url, turns) => {
    client ??= new OpenAI({ apiKey: 'x', baseURL: `${url}/v1` })
    const { echo, check } = counted(turns)
    const agent = new Agent({
      name: 'bench',
      instructions: system,
      model: new OpenAIChatCompletionsModel(client, 'gpt-5'),
      tools: [
        tool({ name: 'echo', description: 'Echoes.', parameters: z.object({ text: z.string() }), execute: echo }),
      ],
    })
    try {
      const result = await run(agent, 'Go', { stream: true, maxTurns: turns })
      for await (const _ of result);
      await result.completed
    } catch (error) {
      if (!(error instanceof MaxTurnsExceededError)) throw error
    }
    check()
  }
}

async function mastra() {
  const { Agent } = await import('@mastra/core/agent')
  const { createTool } = await import('@mastra/core/tools')
  const { createAnthropic } = await import('ai-sdk-anthropic-2')
  const { z } = await import('zod')
  return async (url, turns) => {
    const { echo, check } = counted(turns)
    const anthropic = createAnthropic({ apiKey: 'x', baseURL: `${url}/v1` })
    const echoTool = createTool({
      id: 'echo',
      description: 'Echoes.',
      inputSchema: z.object({ text: z.string() }),
      execute: async (input) => echo(input.context ?? input),
    })
    const agent = new Agent({ name: 'bench', instructions: system, model: anthropic(model), tools: { echo: echoTool } })
    const result = await agent.stream('Go', { maxSteps: turns })
    for await (const _ of result.fullStream);
    check()
  }
}

await contest({ pi, 'vercel-ai': vercelAi, langgraph, 'openai-agents': openaiAgents, mastra })
