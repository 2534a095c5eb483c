// Silent mode: reveals a reply phrase by phrase at reading speed and reports each as shown.

import { phrases, readingMs, type Utterance } from "../shared/captions";

export interface ReaderPorts {
  /** Show the phrase that ends at `chars`. */
  reveal(generation: number, utterance: number, chars: number): void;
  /** The phrase that ends at `chars` was up long enough to read. */
  shown(generation: number, utterance: number, chars: number): void;
}

interface Job {
  readonly generation: number;
  readonly utterance: Utterance;
}

export interface Reader {
  add(generation: number, utterance: Utterance): void;
  /** Drops everything of `generation` and older. */
  clear(generation: number): void;
  reset(): void;
}

export function createReader(ports: ReaderPorts): Reader {
  let jobs: Job[] = [];
  let page = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function next(): void {
    timer = undefined;
    const job = jobs[0];
    if (!job) return;
    const pages = phrases(job.utterance);
    const span = pages[page];
    if (!span) {
      jobs = jobs.slice(1);
      page = 0;
      next();
      return;
    }
    const end = page === pages.length - 1 ? job.utterance.text.length : span[1];
    ports.reveal(job.generation, job.utterance.id, end);
    timer = setTimeout(() => {
      ports.shown(job.generation, job.utterance.id, end);
      page += 1;
      next();
    }, readingMs(span[1] - span[0]));
  }

  function drop(keep: (job: Job) => boolean): void {
    const first = jobs[0];
    jobs = jobs.filter(keep);
    if (jobs[0] === first) return;
    clearTimeout(timer);
    timer = undefined;
    page = 0;
    next();
  }

  return {
    add(generation, utterance) {
      jobs = [...jobs, { generation, utterance }];
      if (timer === undefined) next();
    },
    clear(generation) {
      drop((job) => job.generation > generation);
    },
    reset() {
      drop(() => false);
    },
  };
}
