// The OpenAI SDK for JavaScript against the proxy: whole, streamed, and an error. Prints one JSON document.
import OpenAI from 'openai'

const [baseURL] = process.argv.slice(2)
const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'Current weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
]
const request = { model: 'scripted', messages: [{ role: 'user', content: 'Weather in Oslo?' }], tools }

const whole = await client.chat.completions.create(request)
let text = ''
const calls = []
for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
  const delta = chunk.choices[0]?.delta
  text += delta?.content ?? ''
  for (const call of delta?.tool_calls ?? []) calls.push(call.function)
}
let error
try {
  await client.chat.completions.create({ ...request, messages: 'none' })
} catch (caught) {
  error = { kind: caught.constructor.name, status: caught.status, message: caught.message }
}
console.log(JSON.stringify({ whole: whole.choices[0].message.tool_calls.map(c => c.function), text, calls, error }))
