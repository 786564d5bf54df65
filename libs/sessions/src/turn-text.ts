/** Of a turn that is over, this much of its message and of its summary is told further. */
export const TURN_TEXT_CHARACTERS_MAX = 2000;
