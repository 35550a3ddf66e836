/** Who speaks, as a class that gives a colour: the person, the tutor, or a voice of a seminar. */
const VOICES = ['advocate', 'sceptic', 'empiricist', 'judge'];

/** 1 to 4 for a voice of a seminar, 0 for everybody else. */
export function voiceOf(name: string): number {
  return VOICES.indexOf(name) + 1;
}

export function speakerOf(author: string): string {
  const voice = voiceOf(author);
  return voice ? `voice-${voice}` : author === 'person' ? 'person' : 'tutor';
}
