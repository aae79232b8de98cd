//! A worker that runs the conversations that I/O workers hand over to it. It has no sockets of its own.

use super::messages::{Handover, IoMessage, ReturnAddress, RunMessage};
use crate::conversation::Conversation;
use crate::execution::coroutine::runner::{Answered, ConnectionCoroutine, CoroutineRunner, Outcome, STACK_RETRY};
use crate::execution::worker::{Worker, WorkerCore};
use hotrow_sync::Time;

/// A worker that answers the messages of conversations, in coroutines. I/O workers hand the conversations over to it
/// and get them back.
pub struct RunWorker {
    core: WorkerCore<RunMessage>,
    runner: CoroutineRunner,
    /// The conversations that are handed over to the worker, by their connections' numbers at it.
    conversations: Vec<Option<HandedConversation>>,
}

/// A conversation that is handed over.
struct HandedConversation {
    coroutine: ConnectionCoroutine,
    /// The conversation, while it waits for memory for a stack.
    waiting: Option<Box<Conversation>>,
    return_to: ReturnAddress,
}

impl RunWorker {
    /// Makes a worker without conversations.
    pub fn new(core: WorkerCore<RunMessage>) -> Self {
        let handle = core.handle.clone();
        let runner = CoroutineRunner::new(core.shared.clone(), move |busy| handle.set_busy(busy));
        Self { core, runner, conversations: Vec::new() }
    }

    fn handed(&mut self, number: usize) -> Option<&mut HandedConversation> {
        self.conversations.get_mut(number)?.as_mut()
    }

    /// Begins to run the conversation that an I/O worker has handed over.
    fn receive(&mut self, handover: Handover) {
        let Handover { conversation, number, client, scheduler, return_to } = handover;
        if self.conversations.len() <= number {
            self.conversations.resize_with(number + 1, || None);
        }
        self.conversations[number] = Some(HandedConversation {
            coroutine: ConnectionCoroutine::new(client, scheduler),
            waiting: None,
            return_to,
        });
        self.begin(number, conversation);
    }

    fn begin(&mut self, number: usize, conversation: Box<Conversation>) {
        let Some(Some(handed)) = self.conversations.get_mut(number) else { return };
        match self.runner.begin(&mut handed.coroutine, conversation, false) {
            Ok(outcome) => self.settle(number, outcome),
            Err(conversation) => {
                handed.waiting = Some(conversation);
                self.core.agenda.set_timer(number, Some(Time::now().after(STACK_RETRY)));
            }
        }
    }

    /// Acts on the outcome of running a coroutine.
    fn settle(&mut self, number: usize, outcome: Outcome) {
        match outcome {
            Outcome::Suspended { yields, deadline } => {
                if yields {
                    self.enqueue(number);
                }
                self.core.agenda.set_timer(number, deadline);
            }
            Outcome::Ended(answered) => self.give_back(number, answered),
        }
    }

    fn give_back(&mut self, number: usize, answered: Answered) {
        self.core.agenda.forget(number);
        if let Some(HandedConversation { return_to, .. }) = self.conversations[number].take() {
            return_to.inbox.send(IoMessage::Answered(return_to.number, answered));
        }
    }
}

impl Worker for RunWorker {
    type Message = RunMessage;

    fn core(&mut self) -> &mut WorkerCore<RunMessage> {
        &mut self.core
    }

    fn handle(&mut self, message: RunMessage) {
        match message {
            RunMessage::Run(handover) => self.receive(*handover),
            RunMessage::Wake(number) => {
                if self.handed(number).is_some_and(|handed| handed.coroutine.is_suspended()) {
                    self.enqueue(number);
                }
            }
            RunMessage::End => self.core.end(),
        }
    }

    /// The worker registers no sockets, so no notice comes. The I/O workers pass theirs on as wakes.
    fn notice(&mut self, _: usize, _: bool) {}

    fn enqueue(&mut self, number: usize) {
        let Some(Some(handed)) = self.conversations.get(number) else { return };
        self.core.agenda.enqueue(number, || match &handed.waiting {
            Some(conversation) => conversation.may_be_waited_for(),
            None => handed.coroutine.may_be_waited_for(),
        });
    }

    fn look_after(&mut self, number: usize) {
        let Some(Some(handed)) = self.conversations.get_mut(number) else { return };
        if let Some(conversation) = handed.waiting.take() {
            self.begin(number, conversation);
        } else if let Some(outcome) = self.runner.resume(&mut handed.coroutine, false) {
            self.settle(number, outcome);
        }
    }
}
