/** Of this command; a spec holds it to package.json. */
export const VERSION = '0.1.0';
