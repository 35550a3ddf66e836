/** The shape of a text object, for any words: its keys, the parameters of its functions, the length of its lists. */
export type Translation<T> = T extends string
  ? string
  : T extends (...parameters: infer Parameters) => infer Words
    ? (...parameters: Parameters) => Translation<Words>
    : T extends object
      ? { [Key in keyof T]: Translation<T[Key]> }
      : T;
