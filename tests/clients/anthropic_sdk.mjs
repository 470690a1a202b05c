// The Anthropic SDK for JavaScript against the proxy: whole, streamed, and an error. Prints one JSON document.
import Anthropic from '@anthropic-ai/sdk'

const [baseURL] = process.argv.slice(2)
const client = new Anthropic({ baseURL, apiKey: 'none', maxRetries: 0 })
const tools = [
  {
    name: 'get_weather',
    description: 'Current weather of a city',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
]
const request = { model: 'scripted', max_tokens: 64, messages: [{ role: 'user', content: 'Weather in Oslo?' }], tools }

const calls = message => message.content.filter(b => b.type === 'tool_use').map(b => ({ name: b.name, input: b.input }))
const whole = await client.messages.create(request)
let text = ''
const stream = client.messages.stream(request).on('text', piece => (text += piece))
const streamed = await stream.finalMessage()
let error
try {
  await client.messages.create({ ...request, messages: 'none' })
} catch (caught) {
  error = { kind: caught.constructor.name, status: caught.status, message: caught.message }
}
console.log(JSON.stringify({ whole: calls(whole), text, calls: calls(streamed), error }))
