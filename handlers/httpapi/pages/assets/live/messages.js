// The parts of the contract that the page uses: the stream and the messages of signaling.
export {};
