export const { transport } = globalThis.__ait;
export default { transport };
