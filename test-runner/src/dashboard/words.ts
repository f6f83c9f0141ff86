// What the page says, in the languages it speaks.
import type { Exit, PageState, Stage, Verdict } from './state.ts';

export type Language = 'en' | 'ko';

const en = {
  phone: 'Phone',
  page: 'Page',
  scan: 'Scan this code with the phone',
  qr: 'QR code with the attach link',
  keepOpen: 'Keep the page in the foreground until the run is over.',
  validFor: (time: string) => `Accepted for another ${time}`,
  expired: 'This code is no longer accepted. A fresh one is on its way.',
  copy: 'Copy link',
  copied: 'Copied',
  notCopied: 'The browser did not let us copy it',
  down: 'The phone cannot reach us at the moment',
  noScan: 'Do not scan a code that was shown before. A fresh one appears here as soon as there is one.',
  refused: (count: number) => (count === 1 ? 'A call was refused' : `${count} calls were refused`),
  waited: (time: string, left: string | undefined) => `Waiting for ${time}${left ? `, ${left} left` : ''}`,
  stages: 'Steps',
  done: 'done',
  now: 'now',
  next: 'to come',
  device: 'Device',
  engine: 'Engine',
  appVersion: 'App version',
  title: 'Title',
  address: 'Address',
  noPage: 'No page yet.',
  noPageCame: 'No page attached.',
  tests: 'Tests',
  noTests: 'The tests appear here when a page is there to run them.',
  passed: 'passed',
  failed: 'failed',
  skipped: 'skipped',
  todo: 'to do',
  running: 'running',
  runningTests: 'Running tests',
  waitingForPage: 'Waiting for the phone',
  waitingTest: 'not run yet',
  retried: (count: number) => (count === 1 ? '1 retry' : `${count} retries`),
  more: (count: number) => `${count} more are not shown here.`,
  cut: 'Its errors are in the report: too many tests failed to show them all.',
  diff: 'Difference',
  codeFrame: 'Source',
  stack: 'Stack',
  causedBy: 'Caused by',
  console: 'Console',
  noConsole: 'Nothing was written to the console.',
  notices: 'Notices',
  pageLost: 'Page lost',
  exception: 'Error outside any test',
  warning: 'Warning',
  info: 'Note',
  language: '한국어',
  lost: 'Connection lost',
  lostWords: 'devtools-test does not answer. It has ended or was stopped; what is shown here is the last it told.',
  opening: 'Connecting',
  noResult: 'Ended without a result',
  verdict: { passed: 'passed', failed: 'failed', skipped: 'skipped', notRun: 'not run' } as Record<Verdict, string>,
  stage: {
    starting: 'Relay and its address',
    waiting: 'Code shown',
    accepted: 'Code accepted',
    agentLoaded: 'Agent loaded',
    attached: 'Page answers',
    reattaching: 'Waiting for the page to come back',
  } as Record<Stage, string>,
  pageState: {
    hidden: 'The page is in the background',
    frozen: 'The page does not answer',
    reconnecting: 'The page lost its connection',
    gone: 'The page is gone',
  } as Record<PageState, string>,
  exit: {
    passed: 'Passed',
    failed: 'Failed',
    environment: 'Could not run',
    nothingRan: 'Nothing ran',
    usage: 'Wrong settings',
    interrupted: 'Interrupted',
    terminated: 'Terminated',
  } as Record<Exit, string>,
};

export type Words = typeof en;

const ko: Words = {
  phone: '휴대폰',
  page: '페이지',
  scan: '휴대폰으로 이 코드를 스캔하세요',
  qr: '연결 링크 QR 코드',
  keepOpen: '실행이 끝날 때까지 페이지를 화면에 띄워 두세요.',
  validFor: (time) => `${time} 동안 유효`,
  expired: '만료된 코드입니다. 곧 새 코드가 표시됩니다.',
  copy: '링크 복사',
  copied: '복사했습니다',
  notCopied: '브라우저가 복사를 허용하지 않았습니다',
  down: '지금은 휴대폰이 접속할 수 없습니다',
  noScan: '이전에 표시된 코드는 스캔하지 마세요. 새 코드가 준비되면 여기에 표시됩니다.',
  refused: (count) => `접속 ${count}건이 거부되었습니다`,
  waited: (time, left) => `${time}째 기다리는 중${left ? `, ${left} 남음` : ''}`,
  stages: '단계',
  done: '완료',
  now: '진행 중',
  next: '예정',
  device: '기기',
  engine: '엔진',
  appVersion: '앱 버전',
  title: '제목',
  address: '주소',
  noPage: '아직 연결된 페이지가 없습니다.',
  noPageCame: '연결된 페이지가 없었습니다.',
  tests: '테스트',
  noTests: '페이지가 연결되면 테스트가 여기에 표시됩니다.',
  passed: '통과',
  failed: '실패',
  skipped: '건너뜀',
  todo: '예정',
  running: '실행 중',
  runningTests: '테스트 실행 중',
  waitingForPage: '휴대폰을 기다리는 중',
  waitingTest: '아직 실행 안 됨',
  retried: (count) => `재시도 ${count}회`,
  more: (count) => `${count}개는 여기에 표시하지 않습니다.`,
  cut: '실패한 테스트가 너무 많아 오류 내용은 보고서에만 있습니다.',
  diff: '차이',
  codeFrame: '소스',
  stack: '호출 스택',
  causedBy: '원인',
  console: '콘솔',
  noConsole: '콘솔에 기록된 내용이 없습니다.',
  notices: '알림',
  pageLost: '페이지 연결 끊김',
  exception: '테스트 밖에서 발생한 오류',
  warning: '경고',
  info: '참고',
  language: 'English',
  lost: '연결 끊김',
  lostWords: 'devtools-test가 응답하지 않습니다. 종료되었거나 중단되었습니다. 마지막으로 받은 내용을 표시합니다.',
  opening: '연결 중',
  noResult: '결과 없이 종료됨',
  verdict: { passed: '통과', failed: '실패', skipped: '건너뜀', notRun: '실행 안 됨' },
  stage: {
    starting: '릴레이와 주소 준비',
    waiting: '코드 표시',
    accepted: '코드 확인',
    agentLoaded: '에이전트 로드',
    attached: '페이지 응답',
    reattaching: '페이지가 돌아오기를 기다림',
  },
  pageState: {
    hidden: '페이지가 백그라운드에 있음',
    frozen: '페이지가 응답하지 않음',
    reconnecting: '페이지 연결이 끊김',
    gone: '페이지가 사라짐',
  },
  exit: {
    passed: '통과',
    failed: '실패',
    environment: '실행할 수 없음',
    nothingRan: '실행된 테스트 없음',
    usage: '잘못된 설정',
    interrupted: '중단됨',
    terminated: '종료됨',
  },
};

export const words: Record<Language, Words> = { en, ko };

/** The language of the reader. */
export function preferred(languages: readonly string[]): Language {
  const known = languages.map((language) => language.slice(0, 2)).find((language) => language in words);
  return (known as Language | undefined) ?? 'en';
}

/** `2:05` */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** `12 ms`, `1.2 s` */
export function duration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
