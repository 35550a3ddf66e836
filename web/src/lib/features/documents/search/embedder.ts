/**
 * A text as a vector of its meaning: all-MiniLM-L6-v2 in WebAssembly, on this device.
 *
 * Texts are embedded one at a time: in a batch the weights of eight bits give slightly other vectors,
 * and a text must have the same vector whatever stands beside it.
 */
import { Tokenizer } from '@huggingface/tokenizers';
import { env, InferenceSession, Tensor } from 'onnxruntime-web/wasm';
import { fetchAll, type Progress } from './downloads';
import runtime from 'onnxruntime-web/ort-wasm-simd-threaded.wasm?url';
import weights from '../../../../../weights/model_quantized.onnx?url';
import tokenizer from '../../../../../weights/tokenizer.json?url';
import tokenizerConfig from '../../../../../weights/tokenizer_config.json?url';

export const DIMENSIONS = 384;
/** The model was trained on texts of at most so many pieces of words. */
const MAX_TOKENS = 256;

export class Embedder {
  private constructor(
    private readonly tokenizer: Tokenizer,
    private readonly session: InferenceSession,
  ) {}

  static async load(told: (progress: Progress) => void): Promise<Embedder> {
    const [wasm, model, words, config] = await fetchAll([runtime, weights, tokenizer, tokenizerConfig], told);
    env.wasm.wasmBinary = wasm!;
    env.wasm.numThreads = 1;
    const session = await InferenceSession.create(new Uint8Array(model!), { executionProviders: ['wasm'] });
    return new Embedder(new Tokenizer(json(words!), json(config!)), session);
  }

  async embed(text: string): Promise<Float32Array> {
    const ids = cut(this.tokenizer.encode(text).ids);
    const tensor = (values: bigint[]) => new Tensor('int64', BigInt64Array.from(values), [1, ids.length]);
    const output = await this.session.run({
      input_ids: tensor(ids.map(BigInt)),
      attention_mask: tensor(ids.map(() => 1n)),
      token_type_ids: tensor(ids.map(() => 0n)),
    });
    return pooled(output['last_hidden_state']!.data as Float32Array, ids.length);
  }
}

const json = (bytes: ArrayBuffer) => JSON.parse(new TextDecoder().decode(bytes)) as object;

/** A text that is too long loses its end, not the sign that it has ended. */
function cut(ids: number[]): number[] {
  return ids.length <= MAX_TOKENS ? ids : [...ids.slice(0, MAX_TOKENS - 1), ids.at(-1)!];
}

/** The mean of the pieces' vectors, of length one. */
function pooled(states: Float32Array, count: number): Float32Array {
  const mean = new Float32Array(DIMENSIONS);
  for (let at = 0; at < count * DIMENSIONS; at += 1) mean[at % DIMENSIONS]! += states[at]! / count;
  const length = Math.hypot(...mean) || 1;
  return mean.map((value) => value / length);
}
