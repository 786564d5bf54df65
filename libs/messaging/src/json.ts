/** What JSON can carry; the only thing that goes into the log and onto the bus. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON object, the form of event data, payloads and command bodies. */
export type JsonObject = { [key: string]: Json };
