/** How Mermaid draws: strictly, and in the colours of the app (`styles/tokens.css`). */

export const MOST_CHARACTERS = 10_000;
const LIGHT = { ink: '#1b2528', fill: '#e3efee', edge: '#5d8f8d', paper: '#f7f6f2', second: '#f6ead6', third: '#e9e5f3', line: '#626d70', note: '#fbeed8' };
const DARK = { ink: '#e8edec', fill: '#143339', edge: '#4b8a8c', paper: '#0d1418', second: '#33280f', third: '#262238', line: '#93a2a5', note: '#33280f' };
const FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif";

const STRICT = {
  startOnLoad: false,
  securityLevel: 'strict',
  htmlLabels: false,
  suppressErrorRendering: true,
  maxTextSize: MOST_CHARACTERS,
  maxEdges: 300,
  sequence: { actorFontSize: 14, messageFontSize: 14, noteFontSize: 13 },
};
/** What a diagram may not set for itself. */
const SECURE = [...Object.keys(STRICT).filter((key) => key !== 'sequence'), 'secure', 'theme', 'themeCSS', 'themeVariables', 'darkMode', 'fontFamily', 'dompurifyConfig'];

export type Settings = ReturnType<typeof settingsOf>;

export function settingsOf(isDark: boolean) {
  const { ink, fill, edge, paper, second, third, line, note } = isDark ? DARK : LIGHT;
  const themeVariables = {
    darkMode: isDark,
    fontFamily: FONT,
    fontSize: '14px',
    background: paper,
    mainBkg: fill,
    primaryColor: fill,
    primaryTextColor: ink,
    primaryBorderColor: edge,
    secondaryColor: second,
    secondaryTextColor: ink,
    tertiaryColor: third,
    tertiaryTextColor: ink,
    textColor: ink,
    titleColor: ink,
    lineColor: line,
    edgeLabelBackground: paper,
    clusterBkg: paper,
    clusterBorder: line,
    noteBkgColor: note,
    noteTextColor: ink,
    noteBorderColor: line,
  };
  return { ...STRICT, secure: SECURE, theme: 'base', darkMode: isDark, fontFamily: FONT, themeVariables };
}
