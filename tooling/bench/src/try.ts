import { openArena } from './provider-loop/arena.ts'
const arena = await openArena({ peers: true }) as any
await arena.compete(['matrix-anthropic', 'pi'], { turns: 20, agents: 512, rounds: 1 })
await arena.compete(['matrix-anthropic', 'pi', 'matrix-openai', 'openai-agents', 'mastra'], { turns: 200, rounds: 1 })
await arena.compete(['matrix-anthropic', 'pi'], { turns: 20, agents: 512, rounds: 2 })
arena.close()
